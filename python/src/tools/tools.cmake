# The doctor's library for the module _tools, and the program pellucid, which the package brings along.
#
# Both come from the build that PELLUCID_BUILD_DIR names, or are compiled here.

set(root "${PROJECT_SOURCE_DIR}/..")
file(STRINGS "${root}/CMakeLists.txt" project_line REGEX "^project\\(Pellucid VERSION")
string(REGEX MATCH "[0-9.]+" pellucid_version "${project_line}")

if(PELLUCID_BUILD_DIR)
  find_package(fmt REQUIRED)
  find_package(simdjson 3 REQUIRED)
  find_package(Threads REQUIRED)
  find_package(CLI11 REQUIRED)
  find_library(ISAL_LIBRARY isal REQUIRED)
  find_library(ZSTD_LIBRARY zstd REQUIRED)
  foreach(name doctor doctor_command no_fleet)
    add_library(pellucid_${name} STATIC IMPORTED)
    set_target_properties(pellucid_${name} PROPERTIES IMPORTED_LOCATION "${build_dir}/lib/libpellucid_${name}.a")
  endforeach()
  target_include_directories(pellucid_doctor INTERFACE "${root}" "${root}/src" "${root}/include")
  target_link_libraries(pellucid_doctor INTERFACE
    fmt::fmt simdjson::simdjson Threads::Threads "${ISAL_LIBRARY}" "${ZSTD_LIBRARY}")
  load_cache("${build_dir}" READ_WITH_PREFIX build_ PELLUCID_DOCTOR_SQLITE)
  if(build_PELLUCID_DOCTOR_SQLITE)
    find_library(SQLITE_LIBRARY sqlite3 REQUIRED)
    target_link_libraries(pellucid_doctor INTERFACE "${SQLITE_LIBRARY}")
  endif()
  target_link_libraries(pellucid_doctor_command INTERFACE pellucid_doctor CLI11::CLI11)
else()
  set(PELLUCID_DOCTOR_ONLY ON)
  add_subdirectory("${root}" doctor EXCLUDE_FROM_ALL)
endif()

# The doctor's own copies of what libpellucid also has, such as Error, stay inside the module.
target_link_libraries(_tools PRIVATE pellucid_doctor)
target_link_options(_tools PRIVATE LINKER:--exclude-libs,ALL)

# The program. Python starts it as a file: that takes no more than a second module would, and signals, pipes and exit codes are
# its own. Files are compiled together as in the tree's own build.
file(GLOB inspect_sources CONFIGURE_DEPENDS "${root}/src/inspect/*.cc")
file(GLOB program_sources CONFIGURE_DEPENDS "${root}/tools/pellucid/*.cc" "${root}/tools/pellucid/commands/*.cc")
add_library(pellucid_program_inspect OBJECT ${inspect_sources})
add_executable(pellucid_program ${program_sources})
set_target_properties(pellucid_program_inspect pellucid_program PROPERTIES
  UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20 CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
set_target_properties(pellucid_program_inspect PROPERTIES UNITY_BUILD_BATCH_SIZE 13)
set_target_properties(pellucid_program PROPERTIES
  OUTPUT_NAME pellucid RUNTIME_OUTPUT_DIRECTORY "${package_dir}/bin" INSTALL_RPATH "$ORIGIN/..")
foreach(target pellucid_program_inspect pellucid_program)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE "${root}/tools/pellucid" "${root}/src" "${root}" "${root}/include")
  target_link_libraries(${target} PRIVATE fmt::fmt)
endforeach()
target_compile_definitions(pellucid_program PRIVATE PELLUCID_VERSION="${pellucid_version}")
target_link_libraries(pellucid_program PRIVATE pellucid_program_inspect
  pellucid_doctor_command pellucid_no_fleet pellucid_doctor Pellucid::pellucid)
install(TARGETS pellucid_program RUNTIME DESTINATION pellucid/bin)

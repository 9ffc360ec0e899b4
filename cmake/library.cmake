# One object library per folder of src/. The same objects make the shared library, which users link, and the static
# library, which tests link to reach internals.

set(pellucid_folders base profile tensor ir dispatch ops backends runtime)

add_library(pellucid SHARED)
add_library(Pellucid::pellucid ALIAS pellucid)
add_library(pellucid_static STATIC)

foreach(folder IN LISTS pellucid_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cc")
  if(NOT sources)
    continue()
  endif()
  if(folder STREQUAL "ops")
    list(APPEND sources "${PELLUCID_GENERATED_DIR}/op_table.cc")
  endif()
  add_library(pellucid_${folder} OBJECT ${sources})
  target_compile_definitions(pellucid_${folder} PRIVATE PELLUCID_BUILDING)
  target_include_directories(pellucid_${folder} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
  target_link_libraries(pellucid_${folder} PRIVATE pellucid_flags fmt::fmt Threads::Threads)
  target_sources(pellucid PRIVATE $<TARGET_OBJECTS:pellucid_${folder}>)
  target_sources(pellucid_static PRIVATE $<TARGET_OBJECTS:pellucid_${folder}>)
endforeach()

set_target_properties(pellucid pellucid_static PROPERTIES LINKER_LANGUAGE CXX)

target_compile_features(pellucid PUBLIC cxx_std_20)
target_include_directories(pellucid PUBLIC "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(pellucid PRIVATE pellucid_flags fmt::fmt Threads::Threads)
set_target_properties(pellucid PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT PELLUCID_SANITIZE)  # a sanitizer's runtime is linked into the executable, not into the library
  target_link_options(pellucid PRIVATE -Wl,--no-undefined -Wl,-Bsymbolic-functions)  # calls inside it are direct
endif()

target_include_directories(pellucid_static PUBLIC
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
target_link_libraries(pellucid_static PUBLIC fmt::fmt Threads::Threads)

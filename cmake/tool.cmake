# The program pellucid: src/inspect, which uses only the public headers, computes what it shows; tools/pellucid parses arguments.

find_package(CLI11 REQUIRED)

file(GLOB inspect_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/inspect/*.cc")
add_library(pellucid_inspect STATIC ${inspect_sources})
pellucid_compile_together(pellucid_inspect 13)
target_include_directories(pellucid_inspect PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(pellucid_inspect PRIVATE pellucid_flags PUBLIC pellucid_doctor fmt::fmt)

file(GLOB tool_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tools/pellucid/*.cc" "${PROJECT_SOURCE_DIR}/tools/pellucid/commands/*.cc")
add_executable(pellucid-tool ${tool_sources})
pellucid_compile_together(pellucid-tool 20)
set_target_properties(pellucid-tool PROPERTIES OUTPUT_NAME pellucid BUILD_RPATH "$ORIGIN/../lib")  # for the Parquet module
target_include_directories(pellucid-tool PRIVATE "${PROJECT_SOURCE_DIR}/tools/pellucid")
target_link_libraries(pellucid-tool PRIVATE
  pellucid_flags pellucid_inspect pellucid_doctor_command pellucid_fleet Pellucid::pellucid CLI11::CLI11)
target_compile_definitions(pellucid-tool PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")

add_test(NAME cli
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/inspect/cli.py" $<TARGET_FILE:pellucid-tool>
    "${PROJECT_BINARY_DIR}")
set_tests_properties(cli PROPERTIES TIMEOUT 900 FIXTURES_REQUIRED own_trace RESOURCE_LOCK cli_files)

if(NOT PELLUCID_SANITIZE)  # real outputs against docs/schemas, 10 s
  add_test(NAME schemas
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/inspect/check_schemas.py" --self-test
      --python "${PROJECT_SOURCE_DIR}/.docs/bin/python" $<TARGET_FILE:pellucid-tool> $<TARGET_FILE:pellucid-doctor>
      "${PROJECT_BINARY_DIR}")
  set_tests_properties(schemas PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED own_trace RESOURCE_LOCK cli_files
    SKIP_REGULAR_EXPRESSION "jsonschema is not installed")
endif()

if(PELLUCID_INSTALL)  # the same programs run on the library that is installed
  file(RELATIVE_PATH library_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(pellucid-tool PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_bin}")
  install(TARGETS pellucid-tool pellucid-doctor RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT programs)
  file(GLOB manual_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.1")
  install(FILES ${manual_pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT programs)
endif()

if(PELLUCID_JIT)
  add_executable(kernel_cache_probe "${PROJECT_SOURCE_DIR}/tests/kernel_cache/probe.cc")
  target_link_libraries(kernel_cache_probe PRIVATE pellucid_flags pellucid_static)
  target_include_directories(kernel_cache_probe PRIVATE "${PROJECT_SOURCE_DIR}/src")
  add_test(NAME kernel_cache
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/kernel_cache/kernel_cache.py"
      $<TARGET_FILE:kernel_cache_probe> $<TARGET_FILE:pellucid-tool>)
  set_tests_properties(kernel_cache PROPERTIES TIMEOUT 600)
endif()

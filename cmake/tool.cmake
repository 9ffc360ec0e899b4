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
target_link_libraries(pellucid-tool PRIVATE pellucid_flags pellucid_inspect pellucid_fleet Pellucid::pellucid CLI11::CLI11)
target_compile_definitions(pellucid-tool PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")

# The doctor alone, for machines that only have the traces.
add_executable(pellucid-doctor "${PROJECT_SOURCE_DIR}/tools/doctor/main.cc"
  "${PROJECT_SOURCE_DIR}/tools/pellucid/program.cc" "${PROJECT_SOURCE_DIR}/tools/pellucid/commands/doctor.cc")
pellucid_compile_together(pellucid-doctor 3)
target_include_directories(pellucid-doctor PRIVATE "${PROJECT_SOURCE_DIR}/tools/pellucid")
target_link_libraries(pellucid-doctor PRIVATE pellucid_flags pellucid_no_fleet pellucid_doctor CLI11::CLI11)
target_compile_definitions(pellucid-doctor PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")

if(NOT PELLUCID_SANITIZE)  # a sanitizer's runtime dominates the size
  set(max_doctor_bytes 5000000)
endif()
add_test(NAME doctor_program
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/doctor/check_program.py" $<TARGET_FILE:pellucid-doctor>
    $<TARGET_FILE:pellucid-tool> "${CMAKE_STRIP}" ${max_doctor_bytes})

add_test(NAME doctor_against_hta
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/doctor/against_hta.py"
    --python "${PELLUCID_PEERS_DIR}/bin/python" --docs "${PROJECT_SOURCE_DIR}/docs/doctor.md" $<TARGET_FILE:pellucid-tool>)
set_tests_properties(doctor_against_hta PROPERTIES
  TIMEOUT 300 SKIP_REGULAR_EXPRESSION "HTA is not installed;there are no traces")

add_test(NAME cli
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/inspect/cli.py" $<TARGET_FILE:pellucid-tool>
    "${PROJECT_BINARY_DIR}")
set_tests_properties(cli PROPERTIES TIMEOUT 900 FIXTURES_REQUIRED own_trace)

# Tables for SQL, checked with DuckDB.
if(TARGET pellucid_parquet)
  add_executable(write_made_ranks "${PROJECT_SOURCE_DIR}/tests/fleet/write_made_ranks.cc")
  target_include_directories(write_made_ranks PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(write_made_ranks PRIVATE pellucid_flags pellucid_fleet)
  set_target_properties(write_made_ranks PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
  add_test(NAME fleet
    COMMAND "${PELLUCID_FLEET_DIR}/bin/python" "${PROJECT_SOURCE_DIR}/tests/fleet/check_fleet.py"
      $<TARGET_FILE:pellucid-tool> $<TARGET_FILE:write_made_ranks>)
  set_tests_properties(fleet PROPERTIES TIMEOUT 900)
endif()

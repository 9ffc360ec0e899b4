# Functions that add a fuzzer. Only clang has libFuzzer, and without sanitizers it finds little.

set(PELLUCID_CAN_FUZZ OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PELLUCID_SANITIZE MATCHES "address")
  set(PELLUCID_CAN_FUZZ ON)
endif()

# Compiles SOURCES once more as the object library NAME, which counts the branches that were taken. The linker prefers these
# objects to those of a library.
function(pellucid_count_branches name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES")
  add_library(${name} OBJECT ${arg_SOURCES})
  pellucid_compile_together(${name} 8)
  target_compile_definitions(${name} PRIVATE PELLUCID_BUILDING)
  target_include_directories(${name} PRIVATE
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${name} SYSTEM PRIVATE ${arg_INCLUDES})
  target_compile_options(${name} PRIVATE -O1 -fsanitize=fuzzer-no-link)
  target_link_libraries(${name} PRIVATE pellucid_flags fmt::fmt simdjson::simdjson)
endfunction()

# Adds the program fuzz_NAME and the ctest test fuzz_NAME, which runs it for a minute. ./dev fuzz NAME runs it longer.
#   COUNTED  the object library with counted branches
#   LIBRARY  the library with everything else
#   SEEDS    the program that writes the first inputs
function(pellucid_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;COUNTED;LIBRARY;SEEDS" "")
  add_executable(fuzz_${name} "${arg_SOURCE}" $<TARGET_OBJECTS:${arg_COUNTED}>)
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(fuzz_${name} PRIVATE pellucid_flags ${arg_LIBRARY})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_${name} ${arg_SEEDS})
  add_test(NAME fuzz_${name}
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/fuzz/run.py" "${PROJECT_BINARY_DIR}" ${name} 60)
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endfunction()

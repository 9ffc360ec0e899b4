# Functions that add a fuzzer. Only clang has libFuzzer, and without sanitizers it finds little.

set(PELLUCID_CAN_FUZZ OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PELLUCID_SANITIZE MATCHES "address")
  set(PELLUCID_CAN_FUZZ ON)
endif()

# Lets the code of a library count the branches that were taken, which a fuzzer reads. Other programs ignore the counters. With
# trace-cmp the fuzzer also sees the operands of comparisons: good for binary formats, and a third of the time.
function(pellucid_count_branches library)
  set(kinds inline-8bit-counters indirect-calls pc-table ${ARGN})
  list(JOIN kinds "," kinds)
  # As -fsanitize=fuzzer-no-link, with which clang would refuse precompiled headers. At -O1 clang does not inline.
  target_compile_options(${library} PRIVATE -O2 -fsanitize-coverage=${kinds})
endfunction()

# Adds the program fuzz_NAME and the ctest test fuzz_NAME, which runs it for 20 seconds. ./dev fuzz NAME runs it longer.
#   LIBRARY  the library it tests
#   SEEDS    the program that writes the first inputs
function(pellucid_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;LIBRARY;SEEDS" "")
  add_executable(fuzz_${name} "${arg_SOURCE}")
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  pellucid_count_branches(fuzz_${name})
  target_link_libraries(fuzz_${name} PRIVATE pellucid_flags ${arg_LIBRARY})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_${name} ${arg_SEEDS})
  add_test(NAME fuzz_${name}
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/fuzz/run.py" "${PROJECT_BINARY_DIR}" ${name} 20)
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endfunction()

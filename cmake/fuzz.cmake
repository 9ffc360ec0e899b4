# tests/fuzz/NAME_fuzz.cc becomes fuzz_NAME, for the formats that src/io reads. doctor/fuzz has that of traces.

if(NOT PELLUCID_CAN_FUZZ)
  return()
endif()

add_executable(fuzz_write_seeds "${PROJECT_SOURCE_DIR}/tests/fuzz/write_seeds.cc")
target_link_libraries(fuzz_write_seeds PRIVATE pellucid_flags pellucid_static)
target_include_directories(fuzz_write_seeds PRIVATE "${PROJECT_SOURCE_DIR}/tests")

pellucid_count_branches(pellucid_io trace-cmp)

file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc")
foreach(source IN LISTS fuzzers)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  pellucid_add_fuzzer(${name} SOURCE ${source} LIBRARY pellucid_static SEEDS fuzz_write_seeds)
endforeach()

# tests/fuzz/NAME_fuzz.cc becomes fuzz_NAME and the ctest test fuzz_NAME, which runs it for a minute. ./dev fuzz NAME runs
# it longer. Only clang has libFuzzer, and only sanitizers see what it finds.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT PELLUCID_SANITIZE MATCHES "address")
  return()
endif()

add_executable(fuzz_write_seeds "${PROJECT_SOURCE_DIR}/tests/fuzz/write_seeds.cc")
target_link_libraries(fuzz_write_seeds PRIVATE pellucid_flags pellucid_static)
target_include_directories(fuzz_write_seeds PRIVATE "${PROJECT_SOURCE_DIR}/tests")

# The readers once more, counting which of their branches were taken. The linker takes these before the library's own.
get_target_property(io_sources pellucid_io SOURCES)
add_library(pellucid_io_counted OBJECT ${io_sources})
pellucid_compile_together(pellucid_io_counted 8)
target_compile_definitions(pellucid_io_counted PRIVATE PELLUCID_BUILDING)
target_include_directories(pellucid_io_counted PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_include_directories(pellucid_io_counted SYSTEM PRIVATE "${UTF8PROC_INCLUDE_DIR}")
target_compile_options(pellucid_io_counted PRIVATE -fsanitize=fuzzer-no-link)
target_link_libraries(pellucid_io_counted PRIVATE pellucid_flags fmt::fmt simdjson::simdjson)

file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc")
foreach(source IN LISTS fuzzers)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(fuzz_${name} ${source} $<TARGET_OBJECTS:pellucid_io_counted>)
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(fuzz_${name} PRIVATE pellucid_flags pellucid_static)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_${name} fuzz_write_seeds)
  add_test(NAME fuzz_${name}
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/fuzz/run.py" "${PROJECT_BINARY_DIR}" ${name} 60)
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endforeach()

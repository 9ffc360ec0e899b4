# tests/fuzz/NAME_fuzz.cc becomes fuzz_NAME and the ctest test fuzz_NAME, which runs it for a minute. ./dev fuzz NAME runs
# it longer. Only clang has libFuzzer, and it needs the sanitizers.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT PELLUCID_SANITIZE MATCHES "address")
  return()
endif()

add_executable(fuzz_write_seeds "${PROJECT_SOURCE_DIR}/tests/fuzz/write_seeds.cc")
target_link_libraries(fuzz_write_seeds PRIVATE pellucid_flags pellucid_static "${ISAL_LIBRARY}" "${ZSTD_LIBRARY}")
target_include_directories(fuzz_write_seeds PRIVATE "${PROJECT_SOURCE_DIR}/tests")

# The readers again, with coverage instrumentation. The linker prefers these to the library's own.
function(pellucid_count_branches name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES")
  add_library(${name} OBJECT ${arg_SOURCES})
  pellucid_compile_together(${name} 8)
  target_compile_definitions(${name} PRIVATE PELLUCID_BUILDING)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${name} SYSTEM PRIVATE ${arg_INCLUDES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(${name} PRIVATE pellucid_flags fmt::fmt simdjson::simdjson)
endfunction()
get_target_property(io_sources pellucid_io SOURCES)
pellucid_count_branches(pellucid_io_counted SOURCES ${io_sources} INCLUDES "${UTF8PROC_INCLUDE_DIR}")
file(GLOB trace_reader_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/doctor/readers/*.cc" "${PROJECT_SOURCE_DIR}/src/doctor/trace_event.cc")
pellucid_count_branches(pellucid_trace_readers_counted SOURCES ${trace_reader_sources}
  INCLUDES "${ISAL_INCLUDE_DIR}" "${ZSTD_INCLUDE_DIR}")

file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc")
foreach(source IN LISTS fuzzers)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  if(name STREQUAL "trace")
    add_executable(fuzz_${name} ${source} $<TARGET_OBJECTS:pellucid_trace_readers_counted>)
    target_link_libraries(fuzz_${name} PRIVATE pellucid_doctor)
  else()
    add_executable(fuzz_${name} ${source} $<TARGET_OBJECTS:pellucid_io_counted>)
    target_link_libraries(fuzz_${name} PRIVATE pellucid_static)
  endif()
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(fuzz_${name} PRIVATE pellucid_flags)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_${name} fuzz_write_seeds)
  add_test(NAME fuzz_${name}
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/fuzz/run.py" "${PROJECT_BINARY_DIR}" ${name} 60)
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endforeach()

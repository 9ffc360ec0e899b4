# A function that adds the tests of an executable to ctest.

include(GoogleTest)

# Adds NAME/Suite.Name for each test of the executable. Under sanitizers a process takes half a second to start, so there all
# tests run in PARTS processes, NAME/1 to NAME/PARTS.
function(pellucid_add_gtests target name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PARTS" "")
  set(answers "PELLUCID_ANSWERS=${PROJECT_BINARY_DIR}/answers/${name}")
  if(NOT PELLUCID_SANITIZE)
    gtest_discover_tests(${target}
      TEST_PREFIX "${name}/"
      NO_PRETTY_VALUES
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 900 ENVIRONMENT "${answers}")
    return()
  endif()
  foreach(part RANGE 1 ${arg_PARTS})
    math(EXPR index "${part} - 1")
    set(environment "${answers}")
    if(arg_PARTS GREATER 1)  # a child process of a test would take these too
      list(APPEND environment GTEST_TOTAL_SHARDS=${arg_PARTS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${name}/${part} COMMAND ${target})
    set_tests_properties(${name}/${part} PROPERTIES TIMEOUT 1200 ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# examples/NAME.cc becomes the executable example_NAME, and running it is a test.

file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cc")
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE pellucid_flags Pellucid::pellucid)
  pellucid_share_precompiled(example_${name} examples "${PROJECT_SOURCE_DIR}/include/pellucid/pellucid.h")
  target_compile_definitions(example_${name} PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set(arguments)
  if(name STREQUAL "train_gpt")  # small sizes for the tests
    set(arguments --steps 20 --width 32 --layers 1)
  elseif(name STREQUAL "chat")
    set(arguments --temperature 0 --max-tokens 16 --ask "What is the capital of France?" --ask "What is 2 + 3?")
  endif()
  if(name STREQUAL "profile")  # the test cli analyses this trace
    set(arguments "${PROJECT_BINARY_DIR}/own_trace.json")
  endif()
  add_test(NAME example_${name} COMMAND example_${name} ${arguments})
  set_tests_properties(example_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)  # 77: the weights are missing
endforeach()

# Output that docs/ shows is what the examples print.
if(TARGET example_compile)
  add_test(NAME shown_output
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/compare_output.py" $<TARGET_FILE_DIR:example_compile>)
  set_tests_properties(shown_output PROPERTIES TIMEOUT 300)
endif()

if(TEST example_profile)
  # On one thread: how many pieces of loops a trace has depends on the machine.
  set_tests_properties(example_profile PROPERTIES FIXTURES_SETUP own_trace ENVIRONMENT PELLUCID_THREADS=1)
endif()

# Scripts for users of PyTorch, which itself is not built with sanitizers.
if(TARGET pellucid-doctor AND NOT PELLUCID_SANITIZE)
  set(python_with_torch Python3::Interpreter)
  if(EXISTS "${PELLUCID_PEERS_DIR}/bin/python")
    set(python_with_torch "${PELLUCID_PEERS_DIR}/bin/python")
  endif()
  add_test(NAME example_profile_torch
    COMMAND ${python_with_torch} "${PROJECT_SOURCE_DIR}/examples/profile_torch.py"
      --doctor $<TARGET_FILE:pellucid-doctor> --no-open "${PROJECT_BINARY_DIR}")
  set_tests_properties(example_profile_torch PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    PASS_REGULAR_EXPRESSION "--full shows every finding")
  foreach(example plain_loop hf_trainer lightning)
    set(folder "${PROJECT_BINARY_DIR}/examples/${example}")
    file(MAKE_DIRECTORY "${folder}")
    add_test(NAME example_doctor_${example}
      COMMAND ${python_with_torch} "${PROJECT_SOURCE_DIR}/examples/doctor_${example}.py"
        --doctor $<TARGET_FILE:pellucid-doctor> "${folder}")
    set_tests_properties(example_doctor_${example} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      PASS_REGULAR_EXPRESSION "--full shows every finding")
  endforeach()
  if(TARGET pellucid_parquet)
    set(folder "${PROJECT_BINARY_DIR}/examples/fleet_handler")
    add_test(NAME example_fleet_handler_begins COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}")
    add_test(NAME example_fleet_handler
      COMMAND ${python_with_torch} "${PROJECT_SOURCE_DIR}/examples/fleet_handler.py"
        --doctor $<TARGET_FILE:pellucid-doctor> "${folder}")
    set_tests_properties(example_fleet_handler_begins PROPERTIES FIXTURES_SETUP fleet_handler)
    set_tests_properties(example_fleet_handler PROPERTIES FIXTURES_REQUIRED fleet_handler ENVIRONMENT RANK=3
      TIMEOUT 300 SKIP_RETURN_CODE 77 PASS_REGULAR_EXPRESSION "step=4/rank=3/meta.parquet\nstep=8/rank=3/meta.parquet")
  endif()
endif()

# Generates docs/gemm.md.
add_executable(pellucid-gemm-page EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tools/gemm_page/main.cc")
target_link_libraries(pellucid-gemm-page PRIVATE pellucid_flags Pellucid::pellucid)

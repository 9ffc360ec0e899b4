# tests/FOLDER/*.cc becomes the executable FOLDER_tests; ctest names each of its tests FOLDER/Suite.Name (cmake/add_gtests.cmake).
#   installed  uses what a user has: the shared library and the public headers
#   exhaustive takes 40 minutes: ./dev test exhaustive builds and runs it, ctest does not
#   openmp     tests a file of the Python package that needs no Python, with the library of the packages
#   parity     is one ctest test, torch_parity, because it reads one file of cases
# The results of peers for a folder are in the build tree, written by ./dev test.

file(GLOB test_folders RELATIVE "${PROJECT_SOURCE_DIR}/tests" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*")
if(PELLUCID_CONCURRENCY_TESTS_ONLY)
  list(FILTER test_folders INCLUDE REGEX "^concurrency$")
endif()
if(NOT TARGET pellucid_package)
  list(REMOVE_ITEM test_folders openmp)
endif()

# The CUDA driver of tests: a library that the device loads in place of libcuda.so.1 (tests/support/cuda_driver).
if(NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  file(GLOB test_driver_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/cuda_driver/ptx_*.cc")
  add_library(ptx_interpreter OBJECT ${test_driver_sources})
  add_library(cuda_test_driver MODULE "${PROJECT_SOURCE_DIR}/tests/support/cuda_driver/cuda_driver.cc"
    $<TARGET_OBJECTS:ptx_interpreter>)
  foreach(target IN ITEMS ptx_interpreter cuda_test_driver)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${target} PRIVATE pellucid_flags)
    target_compile_options(${target} PRIVATE -O2)  # it interprets
  endforeach()
  set_target_properties(cuda_test_driver PROPERTIES CXX_VISIBILITY_PRESET default)
endif()

foreach(folder IN LISTS test_folders)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc")
  if(NOT PELLUCID_JIT)
    list(FILTER sources EXCLUDE REGEX "/([a-z_]*jit|bits)_test\\.cc$")  # they compile kernels in process
  endif()
  if(NOT sources)
    continue()
  endif()

  set(target ${folder}_tests)
  add_executable(${target} ${sources})
  pellucid_compile_together(${target} 8)
  # In long files g++ 12 warns about the inline buffer of std::string.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>)
  target_link_libraries(${target} PRIVATE pellucid_flags GTest::gtest_main)
  if(folder STREQUAL "installed")
    target_link_libraries(${target} PRIVATE Pellucid::pellucid)
  elseif(folder STREQUAL "openmp")
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/python/src/torch/openmp_runner.cc")
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/python/src" "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(${target} PRIVATE PELLUCID_TORCH_DIR="${PELLUCID_TORCH_DIR}")
    target_link_libraries(${target} PRIVATE pellucid_package)
  else()
    # Tests that compute many reference values are optimised; the others compile in half the time without it.
    set(level "")
    if(PELLUCID_SANITIZE AND folder STREQUAL "conformance")
      set(level -O1)
    elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND
        NOT folder MATCHES "^(attention|bits|conformance|convolution|exhaustive|gemm|parity)$")
      set(level -O0)
    endif()
    target_compile_options(${target} PRIVATE ${level})
    pellucid_share_precompiled(${target} tests${level}
      ${pellucid_headers_of_others} <gtest/gtest.h> <pellucid/pellucid.h>)
    if(folder MATCHES "^(concurrency|profile)$")
      target_link_libraries(${target} PRIVATE pellucid_doctor)
    elseif(folder STREQUAL "cuda")
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:ptx_interpreter>)
    elseif(folder MATCHES "^(compile|device)$")
      add_dependencies(${target} cuda_test_driver)
      target_compile_definitions(${target} PRIVATE PELLUCID_TEST_CUDA_DRIVER="$<TARGET_FILE:cuda_test_driver>")
    elseif(folder STREQUAL "inspect")
      target_link_libraries(${target} PRIVATE pellucid_inspect)
    endif()
    target_link_libraries(${target} PRIVATE pellucid_static)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(${target} PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()

  if(folder STREQUAL "exhaustive")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  elseif(folder STREQUAL "parity")
    add_test(NAME torch_parity COMMAND ${target})
    set_tests_properties(torch_parity PROPERTIES
      TIMEOUT 900
      ENVIRONMENT "PELLUCID_PARITY_CASES=${PROJECT_BINARY_DIR}/parity_cases.txt"
      SKIP_REGULAR_EXPRESSION "parity cases are missing")
  else()
    set(parts 1)
    if(folder STREQUAL "conformance")
      set(parts 4)
    endif()
    pellucid_add_gtests(${target} ${folder} PARTS ${parts})
    if(folder STREQUAL "device" AND NOT PELLUCID_SANITIZE)  # a share of the kernels, interpreted
      add_test(NAME device_under_oclgrind
        COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/device/oclgrind.py" $<TARGET_FILE:${target}>)
      set_tests_properties(device_under_oclgrind PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    endif()
    if(folder STREQUAL "conformance" AND NOT PELLUCID_SANITIZE)  # a share of it with operands on an asynchronous device
      add_test(NAME conformance_on_queue COMMAND ${target} "--gtest_filter=Conformance.EveryOp*:Rows.EveryOp*")
      set_tests_properties(conformance_on_queue PROPERTIES TIMEOUT 900
        ENVIRONMENT "PELLUCID_TEST_DEVICE=queue;PELLUCID_TEST_SHARE=16")
    endif()
  endif()
endforeach()

# What runs on a machine with a GPU, here on the driver of the tests. Under sanitizers ctest runs the same tests itself.
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/cuda" AND PELLUCID_JIT AND NOT PELLUCID_SANITIZE AND NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_executable(pellucid-cuda-benchmarks "${PROJECT_SOURCE_DIR}/tools/cuda_selftest/benchmarks.cc")
  target_link_libraries(pellucid-cuda-benchmarks PRIVATE pellucid_flags Pellucid::pellucid ${CMAKE_DL_LIBS})
  add_test(NAME cuda_selftest
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/cuda/check_selftest.py" --build "${PROJECT_BINARY_DIR}"
      --driver $<TARGET_FILE:cuda_test_driver>)
  set_tests_properties(cuda_selftest PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
endif()

# A trace of the profiler, and the programs that read it.
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/profile" AND NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_executable(write_sample "${PROJECT_SOURCE_DIR}/tests/profile/write_sample.cc")
  target_link_libraries(write_sample PRIVATE pellucid_flags Pellucid::pellucid fmt::fmt)
  set(sample "${PROJECT_BINARY_DIR}/sample_trace.json")
  add_test(NAME sample_trace COMMAND write_sample "${sample}")
  set_tests_properties(sample_trace PROPERTIES FIXTURES_SETUP sample_trace)
  add_test(NAME trace_schema
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/profile/check_trace.py" --self-test "${sample}")
  add_test(NAME hta_loads_trace
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/profile/check_hta.py"
      --python "${PELLUCID_PEERS_DIR}/bin/python" "${sample}")
  set_tests_properties(trace_schema hta_loads_trace PROPERTIES FIXTURES_REQUIRED sample_trace TIMEOUT 300)
  set_tests_properties(hta_loads_trace PROPERTIES SKIP_REGULAR_EXPRESSION "HTA is not installed")
endif()

if(PELLUCID_INSTALL AND NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_test(NAME load_at_run_time
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/installed/load_at_run_time.py"
      --torch "${PELLUCID_PEERS_DIR}/bin/python" $<TARGET_FILE:pellucid_package>)
  set_tests_properties(load_at_run_time PROPERTIES TIMEOUT 300)
  add_test(NAME exported_symbols
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/installed/exported_symbols.py" $<TARGET_FILE:pellucid_package>)
endif()

# Plans that the full library saves run in a process that links the runtime library alone.
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/saved" AND PELLUCID_INSTALL AND PELLUCID_JIT AND NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_executable(write_plans "${PROJECT_SOURCE_DIR}/tests/saved/write_plans.cc")
  target_link_libraries(write_plans PRIVATE pellucid_flags Pellucid::pellucid fmt::fmt)
  add_executable(run_plan "${PROJECT_SOURCE_DIR}/tests/saved/run_plan.cc")
  target_link_libraries(run_plan PRIVATE pellucid_flags pellucid_runtime_library)
  foreach(target IN ITEMS write_plans run_plan)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  endforeach()
  add_test(NAME saved_plans_at_run_time
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/saved/runtime.py" $<TARGET_FILE:write_plans>
      $<TARGET_FILE:run_plan> $<TARGET_FILE:pellucid_runtime_library> "${PROJECT_BINARY_DIR}/answers/pretrained")
  set_tests_properties(saved_plans_at_run_time PROPERTIES TIMEOUT 900)
endif()

# Collectives between real processes, by shared memory.
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/distributed" AND NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_executable(distributed_ranks "${PROJECT_SOURCE_DIR}/tests/distributed/ranks.cc")
  target_link_libraries(distributed_ranks PRIVATE pellucid_flags Pellucid::pellucid fmt::fmt)
  foreach(part Values Training Checkpoints Sharded Failures Start Traces)
    string(TOLOWER "${part}" name)
    add_test(NAME distributed/ranks_${name}
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/distributed/check_ranks.py" $<TARGET_FILE:distributed_ranks>
        --doctor "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/pellucid-doctor" ${part})
    set_tests_properties(distributed/ranks_${name} PROPERTIES TIMEOUT 600)
  endforeach()
endif()

if(NOT PELLUCID_CONCURRENCY_TESTS_ONLY)
  add_test(NAME layers
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_layers.py" --self-test)
  add_test(NAME devices
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_devices.py" --self-test)
  add_test(NAME readme_snippets
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_readme.py" --self-test)
  add_test(NAME decisions
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_decisions.py" --self-test)
  add_test(NAME methods  # of Tensor, which are written from the declarations of ops
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/write_methods.py")
  add_test(NAME reference  # the pages that list codes and variables, against the sources
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_reference.py" --self-test)
  add_test(NAME versions  # in all files that state it
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_versions.py" --self-test)
  add_test(NAME links  # of the Markdown pages
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_links.py" --self-test)
  if(NOT PELLUCID_SANITIZE)  # the site in 15 s; tests/first_hour/site.py opens it in a browser
    add_test(NAME site COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/packaging/site/check.py" --self-test
      --build "${PROJECT_SOURCE_DIR}/.docs/bin/python" "${PROJECT_BINARY_DIR}/site")
    set_tests_properties(site PROPERTIES TIMEOUT 120 SKIP_REGULAR_EXPRESSION "mkdocs is not installed")
  endif()
  add_test(NAME words  # of the scripts; ./dev lint checks all files
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/check_words.py" --self-test scripts)
endif()

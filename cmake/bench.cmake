# A benchmark is a folder bench/NAME/. In it, TABLE.cc becomes the executable bench_TABLE, and its peer becomes peer_TABLE:
#   peer_TABLE.torch.cc    built where torch is installed
#   peer_TABLE.onednn.cc   built where oneDNN is installed
#   peer_TABLE.plain.cc    needs neither
# bench/NAME_test.py tests the driver NAME.py and is the ctest test bench/NAME.

file(GLOB benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*/*.cc")
list(FILTER benches EXCLUDE REGEX "/peer_[^/]*$")
if(NOT PELLUCID_JIT)
  list(FILTER benches EXCLUDE REGEX "/(jit|mlp_fused)\\.cc$")
endif()
foreach(source IN LISTS benches)
  cmake_path(GET source STEM name)
  add_executable(bench_${name} ${source})
  if(name STREQUAL "doctor")
    target_link_libraries(bench_${name} PRIVATE pellucid_flags pellucid_doctor)
  elseif(name MATCHES "^(mlp_fused|compile_plan|compile_replay)$")  # use internals
    target_link_libraries(bench_${name} PRIVATE pellucid_flags pellucid_static)
  else()
    target_link_libraries(bench_${name} PRIVATE pellucid_flags Pellucid::pellucid)
    pellucid_share_precompiled(bench_${name} benches "${PROJECT_SOURCE_DIR}/include/pellucid/pellucid.h")
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()

# Adds the executables peer_TABLE of all peer_TABLE.ENGINE.cc, linked with the libraries that follow.
function(pellucid_add_peers engine)
  file(GLOB peers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*/peer_*.${engine}.cc")
  if(NOT PELLUCID_JIT)
    list(FILTER peers EXCLUDE REGEX "/peer_jit\\.")
  endif()
  foreach(source IN LISTS peers)
    cmake_path(GET source STEM target)
    add_executable(${target} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${target} PRIVATE ${ARGN})
    target_compile_features(${target} PRIVATE cxx_std_20)
  endforeach()
endfunction()

pellucid_add_peers(plain pellucid_flags)
if(PELLUCID_ONEDNN)
  pellucid_add_peers(onednn DNNL::dnnl gomp Threads::Threads)
endif()
if(PELLUCID_TORCH_DIR)
  # Not find_package(Torch): it requires a CUDA toolkit if the wheel was built with one.
  add_library(peer_torch INTERFACE)
  target_include_directories(peer_torch SYSTEM INTERFACE
    "${PELLUCID_TORCH_DIR}/include" "${PELLUCID_TORCH_DIR}/include/torch/csrc/api/include")
  target_link_libraries(peer_torch INTERFACE
    "${PELLUCID_TORCH_DIR}/lib/libtorch_cpu.so"
    "${PELLUCID_TORCH_DIR}/lib/libc10.so"
    Threads::Threads)
  pellucid_add_peers(torch peer_torch)
endif()

# The doctor's benchmarks generate and read traces.
foreach(side IN ITEMS bench_doctor peer_doctor_inflate peer_doctor_pace)
  if(NOT TARGET ${side})
    continue()
  endif()
  target_compile_definitions(${side} PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${side} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${side} PRIVATE fmt::fmt "${ISAL_LIBRARY}" "${ZSTD_LIBRARY}")
endforeach()
if(TARGET peer_doctor_inflate)
  find_package(ZLIB REQUIRED)
  target_link_libraries(peer_doctor_inflate PRIVATE ZLIB::ZLIB)
endif()

# Both sides of jit use internals.
foreach(side IN ITEMS bench_jit peer_jit)
  if(TARGET ${side})
    target_link_libraries(${side} PRIVATE pellucid_static)
    target_include_directories(${side} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  endif()
endforeach()

# Compares instructions per call with their budgets. They depend on the compiler, so only the reference build is checked.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_test(NAME instructions COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/bench/instructions.py"
    --bench-dir "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_tests_properties(instructions PROPERTIES TIMEOUT 600)
endif()

file(GLOB driver_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*_test.py")
foreach(script IN LISTS driver_tests)
  cmake_path(GET script STEM name)
  string(REGEX REPLACE "_test$" "" name ${name})
  add_test(NAME bench/${name} COMMAND Python3::Interpreter ${script})
  set_tests_properties(bench/${name} PROPERTIES TIMEOUT 300)
endforeach()

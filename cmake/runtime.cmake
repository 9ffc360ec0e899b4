# libpellucid-runtime.so: what running a saved plan (src/saved) needs. No LLVM, no oneDNN, no models and optimisers, and of
# the public functions those that cmake/runtime.exports lists: the rest, such as functions for eager ops, is left out by the linker.
#
#   component  Debian package       contents
#   runtime    libpellucid-runtime0 libpellucid-runtime.so.0
#
# The same sources are compiled once more, for size; the CPU's kernels as in the library, but those that are generated
# compressed (backends/cpu/generated/packed_code.h).

set(runtime_folders ${pellucid_folders})
list(REMOVE_ITEM runtime_folders nn optim sharded)

add_library(pellucid_runtime_library SHARED)
foreach(folder IN LISTS runtime_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cc")
  # Models, tokenizers, pages, other devices, and files that need LLVM or oneDNN; the replacements of these stay.
  list(FILTER sources EXCLUDE REGEX "/codegen/(llvm|cache/(cache_folder|kernel_cache))|/onednn/(convolution|engine|gemm)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/backends/grid/|/opencl/opencl_[a-z_]*\\.cc$|/cuda/(cuda_[a-z]*|driver|nvrtc|table_form)\\.cc$|/codegen/c_like/")
  list(FILTER sources EXCLUDE REGEX "/jit/compiled_loops\\.cc$|/io/pretrained\\.cc$|/base/page/|/explanation/html\\.cc$")
  if(folder STREQUAL "saved")
    list(FILTER sources EXCLUDE REGEX "/sodium/${pellucid_signatures_not_used}$")
  endif()
  if(folder STREQUAL "ops")
    list(APPEND sources "${PELLUCID_GENERATED_DIR}/op_table.cc")
  endif()
  set(target pellucid_runtime_${folder})
  add_library(${target} OBJECT ${sources})
  target_compile_definitions(${target} PRIVATE PELLUCID_BUILDING)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
  target_link_libraries(${target} PRIVATE pellucid_flags fmt::fmt Threads::Threads)
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  if(NOT folder STREQUAL "backends")
    target_compile_options(${target} PRIVATE -Os)
    pellucid_compile_together(${target} 16)
  endif()
  if(folder STREQUAL "ops")
    target_precompile_headers(${target} PRIVATE <ops/shared/pointwise.h>)
  endif()
  target_sources(pellucid_runtime_library PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
target_include_directories(pellucid_runtime_io SYSTEM PRIVATE "${UTF8PROC_INCLUDE_DIR}")
target_link_libraries(pellucid_runtime_io PRIVATE simdjson::simdjson)

if(PELLUCID_SODIUM)
  target_include_directories(pellucid_runtime_saved SYSTEM PRIVATE "${SODIUM_INCLUDE_DIR}")
  target_link_libraries(pellucid_runtime_library PRIVATE "${SODIUM_ARCHIVE}")
endif()

target_sources(pellucid_runtime_library PRIVATE ${packed_kernels})
add_dependencies(pellucid_runtime_library pellucid_kernel_table)
set_target_properties(pellucid_runtime_library PROPERTIES
  LINKER_LANGUAGE CXX OUTPUT_NAME pellucid-runtime EXPORT_NAME runtime
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN"
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/runtime.exports")
target_compile_features(pellucid_runtime_library PUBLIC cxx_std_20)
target_include_directories(pellucid_runtime_library PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(pellucid_runtime_library PRIVATE
  $<BUILD_INTERFACE:pellucid_flags> fmt::fmt simdjson::simdjson "${UTF8PROC_LIBRARY}" Threads::Threads)
target_link_options(pellucid_runtime_library PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,-Bsymbolic-functions
  -Wl,--no-undefined "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/runtime.exports")
# Relocations of the tables of ops and kernels take half a megabyte otherwise. Old versions of mold write them without the
# version of the C library that reads them.
target_link_options(pellucid_runtime_library PRIVATE -fuse-ld=bfd)
target_link_options(pellucid_runtime_library PRIVATE -Wl,-z,pack-relative-relocs)

# One object library per folder of src/. The same objects make three libraries:
#   pellucid          shared, with the LLVM and the oneDNN of this machine: for development and benchmarks
#   pellucid_static   the same as an archive, which tests link to reach internals
#   pellucid_package  shared, as it is installed (cmake/install.cmake): LLVM inside and hidden, without oneDNN

set(pellucid_folders base profile device tensor ir choice packing distributed dispatch ops autograd compile nn optim io sharded saved codegen backends runtime)

add_library(pellucid SHARED)
add_library(Pellucid::pellucid ALIAS pellucid)
add_library(pellucid_static STATIC)
set(pellucid_libraries pellucid pellucid_static)
if(PELLUCID_INSTALL)
  add_library(pellucid_package SHARED)
  list(APPEND pellucid_libraries pellucid_package)
endif()

set(pellucid_signatures_not_used "signature\\.cc")
if(PELLUCID_SODIUM)
  set(pellucid_signatures_not_used "without\\.cc")
endif()

set(explanation_page_source "${PROJECT_BINARY_DIR}/generated/explanation_page.cc")
pellucid_embed_page("${explanation_page_source}" compile/explanation/page/page.h pel::compiler page_ "${PROJECT_SOURCE_DIR}/src/compile/explanation/page"
  page.html page.css explanation_data.js kernel_details.js drawing.js explanation.js)

foreach(folder IN LISTS pellucid_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cc")
  if(NOT sources)
    continue()
  endif()
  list(FILTER sources EXCLUDE REGEX "/src/codegen/(llvm|cache)/")  # object libraries of their own, below
  if(folder STREQUAL "base")
    list(FILTER sources EXCLUDE REGEX "/base/(error|expectation|page/page)\\.cc$")  # of pellucid_errors and pellucid_page
  endif()
  if(folder STREQUAL "backends")
    list(FILTER sources EXCLUDE REGEX "/onednn/|/generated/packed_code\\.cc$")  # object libraries of their own
    if(PELLUCID_OPENCL_INCLUDE_DIR)  # the device, or its replacement
      list(FILTER sources EXCLUDE REGEX "/opencl/without\\.cc$")
    else()
      list(FILTER sources EXCLUDE REGEX "/opencl/opencl_[a-z_]*\\.cc$")
    endif()
    list(FILTER sources EXCLUDE REGEX "/cuda/without\\.cc$")  # of the runtime library
    if(PELLUCID_JIT)  # loops compiled in process, or their replacement
      list(FILTER sources EXCLUDE REGEX "/jit/without\\.cc$")
    else()
      list(FILTER sources EXCLUDE REGEX "/jit/compiled_loops\\.cc$")
    endif()
  endif()
  if(folder STREQUAL "saved")  # signatures, or their replacement
    list(FILTER sources EXCLUDE REGEX "/sodium/${pellucid_signatures_not_used}$")
  endif()
  if(folder STREQUAL "ops")
    list(APPEND sources "${PELLUCID_GENERATED_DIR}/op_table.cc")
  elseif(folder STREQUAL "compile")
    list(APPEND sources "${explanation_page_source}")
  endif()
  add_library(pellucid_${folder} OBJECT ${sources})
  target_compile_definitions(pellucid_${folder} PRIVATE PELLUCID_BUILDING)
  target_include_directories(pellucid_${folder} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
  target_link_libraries(pellucid_${folder} PRIVATE pellucid_flags fmt::fmt Threads::Threads)
  if(folder STREQUAL "ops")  # hundreds of small files that include one large header: two thirds of their build time
    target_precompile_headers(pellucid_ops PRIVATE <ops/shared/pointwise.h>)
    if(PELLUCID_UNITY)
      pellucid_compile_together(pellucid_ops 16)
      # Files with short names that several ops use are compiled alone; so are views, to keep their inlining: a joined
      # file costs a call of view() 18 instructions.
      foreach(source IN LISTS sources)
        file(STRINGS "${source}" own_names REGEX "^(enum |RowProgram::Wanted |RowsDef |constexpr auto k)")
        if(own_names OR (source MATCHES "/src/ops/views/" AND NOT PELLUCID_SANITIZE))
          set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        endif()
      endforeach()
    endif()
  else()
    # Files of backends are long: unity builds gain little. dispatch and tensor are compiled alone to keep their inlining.
    if(NOT folder MATCHES "^(backends|dispatch|tensor)$" OR (PELLUCID_SANITIZE AND NOT folder STREQUAL "backends"))
      pellucid_compile_together(pellucid_${folder} 8)
    endif()
    if(folder STREQUAL "base")
      target_precompile_headers(pellucid_base PRIVATE ${pellucid_headers_of_others})
    else()
      target_precompile_headers(pellucid_${folder} REUSE_FROM pellucid_base)
    endif()
    if(PELLUCID_SANITIZE)  # optimising everything would cost more build time than it saves
      target_compile_options(pellucid_${folder} PRIVATE -O1)
    endif()
  endif()
  foreach(library IN LISTS pellucid_libraries)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:pellucid_${folder}>)
  endforeach()
endforeach()

foreach(library IN LISTS pellucid_libraries)
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:pellucid_errors> $<TARGET_OBJECTS:pellucid_page>)
endforeach()

# Only io uses the JSON and Unicode libraries.
target_include_directories(pellucid_io SYSTEM PRIVATE "${UTF8PROC_INCLUDE_DIR}")
target_link_libraries(pellucid_io PRIVATE simdjson::simdjson "${UTF8PROC_LIBRARY}")
target_link_libraries(pellucid PRIVATE simdjson::simdjson "${UTF8PROC_LIBRARY}")
target_link_libraries(pellucid_static PUBLIC simdjson::simdjson "${UTF8PROC_LIBRARY}")

# Only saved/sodium uses libsodium. Its archive is linked, so that programs need no other library.
if(PELLUCID_SODIUM)
  target_include_directories(pellucid_saved SYSTEM PRIVATE "${SODIUM_INCLUDE_DIR}")
  target_link_libraries(pellucid PRIVATE "${SODIUM_ARCHIVE}")
  target_link_libraries(pellucid_static PUBLIC "${SODIUM_ARCHIVE}")
  target_link_options(pellucid PRIVATE -Wl,--exclude-libs,libsodium.a)
endif()

# Kernels of oneDNN, or their replacement. oneDNN and its OpenMP library can only be found in their own folder.
set(onednn_folder "${PROJECT_SOURCE_DIR}/src/backends/cpu/onednn")
add_library(pellucid_without_onednn OBJECT "${onednn_folder}/without.cc")
set(onednn_libraries pellucid_without_onednn)
set(pellucid_engine pellucid_without_onednn)
if(PELLUCID_ONEDNN)
  add_library(pellucid_onednn OBJECT
    "${onednn_folder}/convolution.cc" "${onednn_folder}/engine.cc" "${onednn_folder}/gemm.cc")
  target_link_libraries(pellucid_onednn PRIVATE DNNL::dnnl)
  target_link_libraries(pellucid PRIVATE DNNL::dnnl gomp)
  target_link_libraries(pellucid_static PUBLIC DNNL::dnnl gomp)
  list(APPEND onednn_libraries pellucid_onednn)
  set(pellucid_engine pellucid_onednn)
endif()
foreach(library IN LISTS onednn_libraries)
  target_compile_definitions(${library} PRIVATE PELLUCID_BUILDING)
  target_include_directories(${library} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
  target_link_libraries(${library} PRIVATE pellucid_flags fmt::fmt Threads::Threads)
  target_precompile_headers(${library} REUSE_FROM pellucid_base)
  if(PELLUCID_SANITIZE)
    target_compile_options(${library} PRIVATE -O1)
  endif()
endforeach()
target_sources(pellucid PRIVATE $<TARGET_OBJECTS:${pellucid_engine}>)
target_sources(pellucid_static PRIVATE $<TARGET_OBJECTS:${pellucid_engine}>)

# LLVM's headers and library stay in codegen/llvm. Building needs it, for kernelgen; the library itself links it only to
# compile kernels in process.
file(GLOB llvm_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/codegen/llvm/*.cc")
list(APPEND llvm_sources "${PROJECT_SOURCE_DIR}/src/codegen/cache/cache_folder.cc"
  "${PROJECT_SOURCE_DIR}/src/codegen/cache/kernel_cache.cc")
add_library(pellucid_llvm OBJECT ${llvm_sources})

# Compiled kernels on disk are valid for the emitter that wrote them: this digest of its source is part of their key.
file(GLOB_RECURSE emitter_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/codegen/*" "${PROJECT_SOURCE_DIR}/src/ir/*")
list(APPEND emitter_sources "${PROJECT_SOURCE_DIR}/include/pellucid/extend/kernel_args.h")
set(PELLUCID_EMITTER_DIGEST "")
foreach(source IN LISTS emitter_sources)
  file(SHA256 "${source}" digest)
  string(SHA256 PELLUCID_EMITTER_DIGEST "${PELLUCID_EMITTER_DIGEST}${digest}")
endforeach()
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${emitter_sources})
file(CONFIGURE OUTPUT "${PELLUCID_GENERATED_DIR}/emitter_digest.h" @ONLY CONTENT
  "inline constexpr char kEmitterDigest[] = \"@PELLUCID_EMITTER_DIGEST@\";\n")
pellucid_compile_together(pellucid_llvm 5)
target_compile_definitions(pellucid_llvm PRIVATE PELLUCID_BUILDING)
target_include_directories(pellucid_llvm PRIVATE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
target_include_directories(pellucid_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(pellucid_llvm PRIVATE pellucid_flags fmt::fmt)
if(PELLUCID_JIT)
  foreach(library IN LISTS pellucid_libraries)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:pellucid_llvm>)
  endforeach()
  target_link_libraries(pellucid PRIVATE LLVM)
  target_link_libraries(pellucid_static PUBLIC LLVM)
else()
  target_sources(pellucid_codegen PRIVATE "${PROJECT_SOURCE_DIR}/src/codegen/cache/without.cc")
endif()

# The kernels of eager execution: generated by a program that links the ops and the emitter, then linked like any object.
set(kernel_folders ${pellucid_folders})
list(REMOVE_ITEM kernel_folders io sharded saved runtime)
add_executable(pellucid-kernelgen "${PROJECT_SOURCE_DIR}/tools/kernelgen/main.cc"
  $<TARGET_OBJECTS:pellucid_llvm> $<TARGET_OBJECTS:pellucid_errors> $<TARGET_OBJECTS:pellucid_page>)
target_sources(pellucid-kernelgen PRIVATE $<TARGET_OBJECTS:${pellucid_engine}>)
foreach(folder IN LISTS kernel_folders)
  target_sources(pellucid-kernelgen PRIVATE $<TARGET_OBJECTS:pellucid_${folder}>)
endforeach()
target_include_directories(pellucid-kernelgen PRIVATE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
target_include_directories(pellucid-kernelgen SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(pellucid-kernelgen PRIVATE pellucid_flags fmt::fmt Threads::Threads LLVM)
if(PELLUCID_ONEDNN)
  target_link_libraries(pellucid-kernelgen PRIVATE DNNL::dnnl gomp)
endif()

set(PELLUCID_KERNELS_DIR "${PROJECT_BINARY_DIR}/kernels")
file(MAKE_DIRECTORY "${PELLUCID_KERNELS_DIR}")
set(kernel_objects "${PELLUCID_KERNELS_DIR}/kernels_avx2.o" "${PELLUCID_KERNELS_DIR}/kernels_avx512.o")
set(packed_kernels "${PELLUCID_KERNELS_DIR}/packed_kernels.o")  # of the runtime library
add_custom_command(
  OUTPUT ${kernel_objects} ${packed_kernels} "${PELLUCID_KERNELS_DIR}/kernel_table.cc"
  COMMAND pellucid-kernelgen "${PELLUCID_KERNELS_DIR}"
  DEPENDS pellucid-kernelgen
  COMMENT "Generating kernels"
  VERBATIM)
set_source_files_properties(${kernel_objects} ${packed_kernels} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(pellucid_kernel_table OBJECT "${PELLUCID_KERNELS_DIR}/kernel_table.cc" ${kernel_objects})
target_include_directories(pellucid_kernel_table PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(pellucid_kernel_table PRIVATE pellucid_flags)
foreach(library IN LISTS pellucid_libraries)
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:pellucid_kernel_table> ${kernel_objects})
  add_dependencies(${library} pellucid_kernel_table)
endforeach()

set_target_properties(${pellucid_libraries} PROPERTIES LINKER_LANGUAGE CXX)

target_compile_features(pellucid PUBLIC cxx_std_20)
target_include_directories(pellucid PUBLIC "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(pellucid PRIVATE pellucid_flags fmt::fmt Threads::Threads)
set_target_properties(pellucid PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT PELLUCID_SANITIZE)  # a sanitizer's runtime is linked into the executable, not into the library
  target_link_options(pellucid PRIVATE -Wl,--no-undefined -Wl,-Bsymbolic-functions)  # calls inside it are direct
endif()

target_include_directories(pellucid_static PUBLIC
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PELLUCID_GENERATED_DIR}")
target_link_libraries(pellucid_static PUBLIC fmt::fmt Threads::Threads)

# WebAssembly with WASI, exceptions and SIMD, by the clang of the package ziglang, whose path is in the environment variable
# PELLUCID_ZIG. zig's own libc++ for WASI has neither exceptions nor std::mutex nor std::filesystem, so the headers are configured
# by runtime/libcxx_config.h, and runtime/ compiles what is needed of libc++'s sources.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_DISABLE_FIND_PACKAGE_Threads ON)  # it would find -pthread, whose threads need a server that sends certain headers

set(zig "$ENV{PELLUCID_ZIG}")
if(NOT EXISTS "${zig}")
  message(FATAL_ERROR "PELLUCID_ZIG must name the program zig: use packaging/web/build.py")
endif()
cmake_path(GET zig PARENT_PATH PELLUCID_ZIG_LIB)
string(APPEND PELLUCID_ZIG_LIB "/lib")

set(CMAKE_C_COMPILER "${CMAKE_CURRENT_LIST_DIR}/zig-clang")
set(CMAKE_CXX_COMPILER "${CMAKE_CURRENT_LIST_DIR}/zig-clang")
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${zig}\" ar qcs <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()

# All browsers of the last years have these features: exceptions since 2022, in the form that LLVM calls legacy; SIMD since 2023.
set(wasm_flags "-target wasm32-wasip1 -mbulk-memory -msign-ext -mnontrapping-fptoint -msimd128")
string(APPEND wasm_flags " -fwasm-exceptions -mllvm -wasm-use-legacy-eh=true --no-default-config -nostdinc")
set(libc_folders "-isystem ${PELLUCID_ZIG_LIB}/include")
foreach(folder IN ITEMS wasm-wasi-musl generic-musl)
  string(APPEND libc_folders " -isystem ${PELLUCID_ZIG_LIB}/libc/include/${folder}")
endforeach()
set(CMAKE_C_FLAGS_INIT "${wasm_flags} ${libc_folders}")
set(CMAKE_CXX_FLAGS_INIT "${wasm_flags} -include ${CMAKE_CURRENT_LIST_DIR}/runtime/libcxx_config.h \
-isystem ${PELLUCID_ZIG_LIB}/libcxx/include -isystem ${PELLUCID_ZIG_LIB}/libcxxabi/include ${libc_folders} \
-DCLI11_HAS_FILESYSTEM=0")  # CLI11 then asks stat(), and libc++'s std::filesystem is not needed

# zig builds its libc at the first link. Memory comes from wasi.js, which knows its initial size; it may grow to 4 GB.
set(CMAKE_CXX_LINK_EXECUTABLE "\"${zig}\" cc -target wasm32-wasi \
-mcpu=generic+exception_handling+bulk_memory+sign_ext+nontrapping_fptoint+simd128 -O2 -nostdlib++ <LINK_FLAGS> <OBJECTS> \
-o <TARGET> <LINK_LIBRARIES> -Wl,-s -Wl,--import-memory -Wl,--initial-memory=16777216 -Wl,-z,stack-size=4194304")

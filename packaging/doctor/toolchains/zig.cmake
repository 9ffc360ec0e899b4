# What macOS and Windows share: clang, libc++ and the system's headers as the package ziglang brings them. The scripts in zig/
# start it; the environment variable PELLUCID_ZIG names it, build.py sets it.
set(zig_folder "${CMAKE_CURRENT_LIST_DIR}/../zig")
set(CMAKE_C_COMPILER "${zig_folder}/cc")
set(CMAKE_CXX_COMPILER "${zig_folder}/c++")
set(CMAKE_AR "${zig_folder}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${zig_folder}/ranlib" CACHE FILEPATH "")
set(CMAKE_RC_COMPILER "${zig_folder}/rc" CACHE FILEPATH "")
set(CMAKE_C_COMPILER_TARGET ${zig_target})
set(CMAKE_CXX_COMPILER_TARGET ${zig_target})
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s")
set(PELLUCID_CCACHE OFF CACHE FILEPATH "")  # zig has a cache of its own
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")  # CMake asks for it, but calls it only to install libraries
  set(CMAKE_INSTALL_NAME_TOOL "${CMAKE_COMMAND}" CACHE FILEPATH "")
endif()

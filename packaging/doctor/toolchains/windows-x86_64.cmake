# Windows 10 and later: MinGW's headers, and the C runtime that Windows brings.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(zig_target x86_64-windows-gnu)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
set(PELLUCID_NASM_FORMAT win64 CACHE STRING "")

# macOS 11 and later, cross compiled. Never run: there was no Mac to run it on.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(zig_target aarch64-macos.11.0-none)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")

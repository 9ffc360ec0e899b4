# Linux on x86-64, by the system's g++: one static program, for any distribution.
set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s")
set(PELLUCID_NASM_FORMAT elf64 CACHE STRING "")

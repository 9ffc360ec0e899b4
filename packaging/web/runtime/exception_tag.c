// The tag of C++ exceptions. With dynamic linking it comes from the loader; here nothing else defines it.
__asm__(
    ".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

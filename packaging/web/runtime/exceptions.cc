// libc++abi, and files of libc++ that declare a class in another way than its headers, which library.cc
// includes.
// clang-format off
#include "libcxxabi/src/cxa_aux_runtime.cpp"
#include "libcxxabi/src/abort_message.cpp"
#include "libcxxabi/src/cxa_default_handlers.cpp"
#include "libcxxabi/src/cxa_exception.cpp"
#include "libcxxabi/src/cxa_exception_storage.cpp"
#include "libcxxabi/src/cxa_guard.cpp"
#include "libcxxabi/src/cxa_handlers.cpp"
#include "libcxxabi/src/cxa_personality.cpp"
#include "libcxxabi/src/cxa_virtual.cpp"
#include "libcxxabi/src/fallback_malloc.cpp"
#include "libcxxabi/src/private_typeinfo.cpp"
#include "libcxxabi/src/stdlib_exception.cpp"
#include "libcxxabi/src/stdlib_stdexcept.cpp"
#include "libcxxabi/src/stdlib_typeinfo.cpp"

#include "libcxx/src/condition_variable_destructor.cpp"
#include "libcxx/src/error_category.cpp"
#include "libcxx/src/mutex_destructor.cpp"

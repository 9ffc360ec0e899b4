// libc++'s streams and locales, apart from library.cc: each is half of the work, so that two cores share it.
// clang-format off
#include "libcxx/src/ios.cpp"
#include "libcxx/src/ios.instantiations.cpp"
#include "libcxx/src/iostream.cpp"
#include "libcxx/src/locale.cpp"

// How many launches one call makes, on both sides: enough that the first one, which wakes the driver's
// thread, does not matter, and fewer than a stream of kOpenCl takes.
#pragma once

#include <cstdint>

namespace bench {

inline constexpr int kLaunches = 100;

}  // namespace bench

// Runs several traces, or analyses of one trace, in parallel.
#pragma once

#include <cstddef>

#include "base/function_ref.h"

namespace pel::doctor {

// Calls visit(i) for each i below count, on at most so many threads; 0 means the number of cores. After the
// first exception no more calls are started; the exception of the smallest i is rethrown.
inline constexpr std::size_t kFewSpans = 2000;  // of a trace: below, threads cost more than they save

void run_in_parallel(std::size_t count, std::size_t max_at_once, FunctionRef<void(std::size_t)> visit);

}  // namespace pel::doctor

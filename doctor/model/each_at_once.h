// Traces, or analyses of one, several at once.
#pragma once

#include <cstddef>

#include "base/function_ref.h"

namespace pel::doctor {

// Calls visit(i) for each i below count, on at most so many threads; 0: as many as there are cores. After the
// first that throws no more are begun; of those that threw, the one with the least i is thrown.
inline constexpr std::size_t kFewSpans = 2000;  // of a trace: below, threads cost more than they save

void each_at_once(std::size_t count, std::size_t most_at_once, FunctionRef<void(std::size_t)> visit);

}  // namespace pel::doctor

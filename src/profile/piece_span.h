// The records of the pieces of parallel loops.
#pragma once

#include "base/thread_pool.h"

namespace pel::profile {

// For the pool, while a session records.
extern constinit const pel::detail::PieceTracer kPieceTracer;

}  // namespace pel::profile

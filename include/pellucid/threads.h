// How many threads the CPU device uses.
#pragma once

#include "pellucid/api.h"

namespace pel {

// Threads a kernel may use, the calling one included. At start it is PELLUCID_THREADS, or else the number of
// processors this process may run on.
PEL_API int thread_count();
// From the next kernel on; 1 runs everything on the caller. At most 1024.
PEL_API void set_thread_count(int count, Site site = Site::current());

}  // namespace pel

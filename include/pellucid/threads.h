// The number of threads of the CPU device.
#pragma once

#include "pellucid/api.h"

namespace pel {

// Returns the number of threads that a kernel may use, including the calling one. The default is
// PELLUCID_THREADS, or the number of processors that this process may run on.
PEL_API int thread_count();
// Takes effect with the next kernel. 1 runs everything on the calling thread; the maximum is 1024.
PEL_API void set_thread_count(int count, Site site = Site::current());

}  // namespace pel

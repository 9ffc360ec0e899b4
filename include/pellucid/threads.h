// The threads of the CPU device: how many, and who runs loops on them.
#pragma once

#include <functional>

#include "pellucid/api.h"

namespace pel {

// Returns the number of threads that a kernel may use, including the calling one. The default is
// PELLUCID_THREADS, or the number of processors that this process may use, by its affinity and by the limit
// of the container it runs in.
PEL_API int thread_count();
// Takes effect with the next kernel. 1 runs everything on the calling thread; the maximum is 1024.
PEL_API void set_thread_count(int count, Site site = Site::current());

// Calls body(i) once for every i from 0 to n - 1, in any order, on at most n threads, and returns when all
// calls have ended. One thread may make several of the calls, or all. `body` does not throw; it is valid
// until the runner returns.
using ParallelRunner = std::function<void(int n, const std::function<void(int)>& body)>;

// Kernels run their parallel loops by `runner` from now on instead of on the library's own threads; an empty
// function restores these. For programs with another pool of threads that would compete for the processors,
// such as PyTorch's OpenMP. Results have the same bits.
//
// The runner is called on the thread that calls the kernel, for one loop at a time, with n from 2 to
// thread_count(). Loops inside `body`, and loops of other threads meanwhile, run without it on the thread
// that calls them. An exception of the runner ends the kernel; all calls of `body` must have ended by then.
//
// Returns when no loop runs by the previous runner any more, so it cannot be called inside a parallel loop. A
// child of fork() uses the library's own threads until it sets a runner: few pools of threads survive a fork.
PEL_API void set_parallel_runner(ParallelRunner runner, Site site = Site::current());

}  // namespace pel

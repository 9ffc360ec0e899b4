// Runs Pellucid's parallel loops on the OpenMP threads that PyTorch has started. Two pools of threads on the
// same processors take turns badly: idle OpenMP threads spin for a while and occupy the processors that the
// other pool needs.
#pragma once

namespace pel::python {

// Sets a parallel runner that uses the OpenMP library of PyTorch, or any other one that is loaded, and
// returns true; returns false and changes nothing if there is none. Nothing is loaded or linked for it. A
// loop then runs on as many threads as thread_count() and OpenMP's own number (torch.set_num_threads) both
// allow. Call it again in a child of fork() only if the OpenMP library supports that; libgomp does not.
bool use_loaded_openmp();

}  // namespace pel::python

// Whether threads can be started. WebAssembly without threads still has std::mutex and std::thread: locks do
// nothing, and starting a thread fails. PELLUCID_SINGLE_THREAD makes such a build elsewhere, for its tests.
#pragma once

namespace pel {

#if defined(PELLUCID_SINGLE_THREAD) || (defined(__wasm__) && !defined(__wasm_atomics__))
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

}  // namespace pel

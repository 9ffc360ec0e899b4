// NVRTC, the compiler from CUDA C++ to PTX. It is loaded when it is first used, and nothing is linked.
#pragma once

#include <string>
#include <vector>

namespace pel::cuda {

// Why NVRTC cannot be used; empty if it can.
const std::string& nvrtc_refusal();
// "NVRTC 13.0". Only where it can be used.
const std::string& nvrtc_version();
int nvrtc_release();  // 13000: 13.0

// The options that the bits of kernels depend on, without the architecture.
const std::vector<std::string>& nvrtc_options();

// Returns the PTX of a module for an architecture such as "compute_80". Throws a DeviceError with the
// compiler's log. Calls from several threads run one after the other: NVRTC allows them at once, but uses
// all of its memory for each.
std::string compile_to_ptx(const std::string& name, const std::string& text, const std::string& architecture);

}  // namespace pel::cuda

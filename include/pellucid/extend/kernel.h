// Kernels: what an op's list is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/device.h"
#include "pellucid/dtype.h"
#include "pellucid/extend/kernel_args.h"

namespace pel {

// Whether a kernel supports a call; a refusal has a reason, a string literal.
class Support {
 public:
  static constexpr Support yes() { return Support(nullptr); }
  static constexpr Support no(const char* reason) { return Support(reason); }
  constexpr explicit operator bool() const { return reason_ == nullptr; }
  constexpr const char* reason() const { return reason_; }

 private:
  constexpr explicit Support(const char* reason) : reason_(reason) {}
  const char* reason_;
};

struct KernelVariant {
  std::string name;
  double predicted_ns;
  std::function<void()> run;
};

// Destination-passing: outputs are allocated before, nothing is returned to the host.
struct Kernel {
  const char* name;
  Support (*supports)(const KernelArgs& args);
  void (*run)(Stream& stream, const KernelArgs& args);
  // The kernel is for calls that compute in one of these dtypes, by this one of the op's formulas.
  DTypeSet computes = kAllDTypes;
  std::uint8_t formula = 0;
  const void* context = nullptr;  // the kernel's own; passed in args.context
  // Its bits depend on more than the values of the operands: used only under Determinism::Relaxed.
  bool is_relaxed = false;
  // Predicted nanoseconds of the call. Of the kernels that support a call the fastest by prediction runs. All
  // kernels of a list have it, or none.
  double (*predict)(const KernelArgs& args) = nullptr;
  // FLOPs of a matmul, a convolution or an attention: a multiplication and an addition are two.
  std::uint64_t (*flops)(const KernelArgs& args) = nullptr;
  // A name of what runs for this call, if it says more than `name`. Depends on dtypes, sizes, strides and
  // numbers alone. For traces and logs.
  std::string (*describe)(const KernelArgs& args) = nullptr;
  // Bytes of args.scratch that the kernel uses. If that is null, it allocates them as tensor memory.
  std::uint64_t (*scratch_bytes)(const KernelArgs& args) = nullptr;
  // The ways to run this call, the chosen one first. For explanations.
  std::vector<KernelVariant> (*variants)(const KernelArgs& args) = nullptr;
  // A key for calls that share one choice. For tuning.
  std::string (*shape_class)(const KernelArgs& args) = nullptr;
};
// In order of preference: the first kernel that supports the call wins, unless kernels predict their times.
using KernelList = ArrayView<Kernel>;

}  // namespace pel

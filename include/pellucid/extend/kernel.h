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

// Whether a kernel takes a call; a refusal has its reason, a string literal.
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
  // Calls that it is no candidate for: computed in another dtype, or by another of the op's formulas.
  DTypeSet computes = kAllDTypes;
  std::uint8_t formula = 0;
  const void* context = nullptr;  // the kernel's own; given to it in args.context
  // Its bits depend on more than the values of the operands: taken under Determinism::Relaxed alone.
  bool is_relaxed = false;
  // Where the kernels of a list differ in speed: nanoseconds for the call, by a model. Of those that support
  // it the one with the least is taken. All kernels of a list have it, or none.
  double (*predict)(const KernelArgs& args) = nullptr;
  // Operations of a product, a convolution or an attention: a multiplication and an addition are two.
  std::uint64_t (*flops)(const KernelArgs& args) = nullptr;
  // What runs for this call, where that is more than the name says: by dtypes, sizes, strides and numbers
  // alone. For records and logs.
  std::string (*describe)(const KernelArgs& args) = nullptr;
  // Bytes of args.scratch that it has use for. Where that is null, it takes as much from the memory of
  // tensors.
  std::uint64_t (*scratch_bytes)(const KernelArgs& args) = nullptr;
  // The ways in which it could run this call, the one that it takes first. For explanations.
  std::vector<KernelVariant> (*variants)(const KernelArgs& args) = nullptr;
  // Calls among which one choice serves all. For tuning.
  std::string (*shape_class)(const KernelArgs& args) = nullptr;
};
// In order of preference: the first kernel that supports the call wins, unless kernels predict their times.
using KernelList = ArrayView<Kernel>;

}  // namespace pel

// The choice of a kernel: by order, by prediction, or by what tuning has measured.
#pragma once

#include "pellucid/determinism.h"
#include "pellucid/explain.h"
#include "pellucid/extend/op.h"

namespace pel {

inline bool is_candidate(const Kernel& kernel, const std::optional<Computation>& computation) {
  return !computation ||
         (kernel.computes.contains(computation->dtype) && kernel.formula == computation->formula);
}

// Whether a kernel takes a call, as things are set.
inline Support takes(const Kernel& kernel, const KernelArgs& args) {
  if (kernel.is_relaxed && determinism() == Determinism::Strict)
    return Support::no("needs Determinism::Relaxed");
  return kernel.supports(args);
}

// Every candidate with its refusal or prediction, and the winner with the reason.
KernelChoice explain_choice(const Op& op, const KernelArgs& args,
                            const std::optional<Computation>& computation, Measure measure);

// The same for operands, as launch takes them.
KernelChoice explain_launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                            ArrayView<Scalar> scalars, Measure measure);

// What PELLUCID_TUNE names a file for: calls of one class take the kernel that was fastest when it was first
// seen.
class Tuning {
 public:
  static Tuning* active();  // null: no tuning
  // Measures where the class is new. `best` is what the model takes.
  const Kernel* choose(const Op& op, KernelArgs args, const Kernel* best,
                       const std::optional<Computation>& computation);

 private:
  struct State;
  explicit Tuning(std::string path);
  State* state_;
};

}  // namespace pel

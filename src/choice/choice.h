// Which kernel of an op's list runs a call, and why.
#pragma once

#include "pellucid/determinism.h"
#include "pellucid/explain.h"
#include "pellucid/extend/op.h"

namespace pel {

inline bool is_candidate(const Kernel& kernel, const std::optional<Computation>& computation) {
  return !computation ||
         (kernel.computes.contains(computation->dtype) && kernel.formula == computation->formula);
}

// Whether a kernel takes a call under the current Determinism.
inline Support takes(const Kernel& kernel, const KernelArgs& args) {
  if (kernel.is_relaxed && determinism() == Determinism::Strict)
    return Support::no("needs Determinism::Relaxed");
  return kernel.supports(args);
}

// Returns every candidate in the list for `device` with its refusal or prediction, and the winner with the
// reason. The operands are on `device`.
KernelChoice explain_choice(const Op& op, Device device, const KernelArgs& args,
                            const std::optional<Computation>& computation, Measure measure);

}  // namespace pel

// Pairs the kernels of two steps and classifies their changes.
#pragma once

#include <string>
#include <vector>

#include "doctor/compare/op_tree.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

enum class ChangeKind : std::uint8_t {
  Same,  // the same name, and about the same time
  Faster,
  Slower,
  Replaced,  // one of another name in its place
  Gone,
  New,
};
std::string_view name(ChangeKind kind);  // "faster"

struct KernelChange {
  ChangeKind kind;
  std::string chain;
  const StepKernel* before = nullptr;  // of the summaries; null: there is none
  const StepKernel* after = nullptr;
  std::int64_t count_before = 0, count_after = 0;
  SaturatingSum ns_before, ns_after;
  std::int64_t difference_ns() const { return ns_after - ns_before; }
};

// By the size of the difference, the largest first. Copies and fills are among them.
std::vector<KernelChange> kernel_changes(const StepSummary& before, const StepSummary& after,
                                         const Alignment& alignment, CommonNames& names);

}  // namespace pel::doctor

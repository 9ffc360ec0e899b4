// Compares two traces of one program: eager and compiled, on two devices, or before and after a change.
// Reports what changed, and the parts of the difference of a step.
#pragma once

#include <string>
#include <vector>

#include "doctor/compare/step_summary.h"
#include "doctor/diagnosis/finding.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

// A part of the device time of a step. The parts of a step add up to its time, and their differences to that
// of two steps.
struct TimePart {
  std::string_view key, label;
  std::int64_t before_ns = 0, after_ns = 0;
  std::int64_t difference_ns() const { return saturating_sub(after_ns, before_ns); }
};
std::vector<TimePart> time_parts(const TimeShares& before, const TimeShares& after);

struct CompareLabels {
  std::string before = "before", after = "after";
};

std::vector<Finding> compare(const StepSummary& before, const StepSummary& after,
                             const CompareLabels& labels = {});

}  // namespace pel::doctor

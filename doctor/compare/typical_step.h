// The step that represents a trace in a comparison.
#pragma once

#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"

namespace pel::doctor {

struct TypicalStep {
  std::string name;
  std::size_t steps = 0;  // it was chosen from
  TimeShares time;
  std::vector<std::uint32_t> activities;  // indices of Model::activities()
};

// The step of median device time; where no step is marked, or none has activity, the whole trace.
TypicalStep typical_step(const Examined& examined);

}  // namespace pel::doctor

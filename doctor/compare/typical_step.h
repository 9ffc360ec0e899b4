// The step that stands for a trace where two are compared.
#pragma once

#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"

namespace pel::doctor {

struct TypicalStep {
  std::string name;
  std::size_t steps = 0;  // it was chosen from
  TimeShares time;
  std::vector<std::uint32_t> works;  // indices of Model::work()
};

// The step of median device time; where no step is marked, or none has work, the whole trace.
TypicalStep typical_step(const Examined& examined);

}  // namespace pel::doctor

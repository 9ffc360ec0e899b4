// Prescriptions as the first screen of a report shows them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

inline constexpr std::string_view kPrescriptions = "prescriptions";  // the key of their finding

struct ShownPrescription {
  std::string gain;    // "saves 66.1 %: 145 of 220 ms a step"
  std::string action;  // "Launch the step as one CUDA graph: …"
  std::string how;
  std::string where;  // "at train.py(42): step, 3,774 times"; empty: not known
  std::string needs;  // "if sizes do not change from step to step"
};
struct ShownPrescriptions {
  std::vector<ShownPrescription> list;
  std::string together;  // what the first of them save at once; empty: there are fewer than two
};
// Nothing where there is nothing to prescribe.
std::optional<ShownPrescriptions> shown_prescriptions(std::span<const Finding> findings);

const Finding* find_finding(std::span<const Finding> findings, std::string_view key);  // null: there is none

}  // namespace pel::doctor

// What to do about a run: actions in the order of their predicted gain.
#pragma once

#include <optional>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/prescriptions/prescription.h"

namespace pel::doctor {

struct Prescriptions {
  std::vector<Prescription> list;  // the largest gain first; those that gain too little are left out
  std::int64_t total_ns =
      0;                   // from the first activity to the end of the last, or of the host without a device
  std::int64_t steps = 1;  // in that time
  std::int64_t together_ns = 0;  // what the first `together` of the list save at once
  std::size_t together = 0;      // 0: there are fewer than two
};
Prescriptions prescribe(const Examined& examined);

// The finding "prescriptions"; nothing where there is nothing to prescribe.
std::optional<Finding> prescriptions_finding(const Prescriptions& prescriptions);

}  // namespace pel::doctor

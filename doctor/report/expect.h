// Expectations on a trace: "kernels == 5; gemm == 3; 'gelu' >= 1; step.syncs == 0".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/expectation.h"
#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

struct Checked {
  std::string condition;  // as it was written
  std::string seen;       // "5", "5 to 7 in 10 steps; step 3 has 7", "no steps"
  bool holds = false;
};

// Whether it compares the trace with another: more.kernels, more.step.syncs.
bool is_about_more(const Condition& condition);

// A word is a total, a quantity, or step. and a quantity of steps, each also after more. if the trace was
// compared with another; a quoted text counts kernels with it in their name. A ValueError names a word that
// is nothing of this in any of the traces.
void check_words(const std::vector<Condition>& conditions, const std::vector<const Diagnosis*>& traces);

// What a trace does not count is 0. A condition on steps is one on every step, and fails where there are
// none; one on more. in steps compares the medians.
std::vector<Checked> check(const std::vector<Condition>& conditions, const Diagnosis& trace);

}  // namespace pel::doctor

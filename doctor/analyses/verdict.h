// The verdict: the largest loss of device time, or what bounds the kernels themselves.
#pragma once

#include "doctor/analyses/analysis.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

// Percent of lost device time below which the kernels decide the verdict.
inline constexpr double kLossThatCounts = 15;

struct Losses {
  std::int64_t total_ns = 0;
  SaturatingSum overhead_ns, sync_ns, input_ns, communication_ns, unexplained_ns;
  SaturatingSum compute_ns, memory_ns;  // of kernels, by what bounds each of them
  SaturatingSum unsized_ns;             // of compute: matmuls of sizes that are not known, and may be small

  explicit Losses(const TimeShares& shares);
  std::int64_t lost_ns() const {
    return overhead_ns + sync_ns + input_ns + communication_ns + unexplained_ns;
  }
  Bound bound() const;
};

struct Verdicts {
  Losses all;
  std::vector<Losses> steps;
};
Verdicts judge(const Examined& examined);

Verdict verdict_of(const Examined& examined, const Verdicts& verdicts);

}  // namespace pel::doctor

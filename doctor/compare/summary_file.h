// The summary of a trace as a small file, which a later trace is compared with: CI then keeps no traces.
// JSON of the schema pellucid.doctor_summary/1, in which ops that launch the same, layer after layer, are
// there once. Counts and names are those of the trace; the durations of such ops are their mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "doctor/compare/step_summary.h"

namespace pel::doctor {

inline constexpr std::size_t kMaxSummaryBytes = 50'000;

// A ValueError: it would take more bytes than that.
std::string summary_text(const StepSummary& summary);

// Nothing: the file is not a summary, and may be a trace. A FileError: it is one, and broken.
std::optional<StepSummary> read_summary(const std::string& path);

}  // namespace pel::doctor

// The diagnosis of one trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/diagnosis/finding.h"
#include "doctor/readers/kineto.h"

namespace pel::doctor {

enum class Bound : std::uint8_t {
  Overhead,
  Compute,
  Memory,
  Input,
  Communication,
  Sync,
  Unexplained,  // the device is idle for reasons that the trace does not show
  CpuOnly,      // the trace has no device activity
};
std::string_view name(Bound bound);  // "overhead-bound"

struct Verdict {
  Bound bound = Bound::CpuOnly;
  std::string sentence;                // with its numbers
  std::vector<std::string> reasons{};  // why, and what to do first
};

// Counts of the whole trace.
struct Totals {
  std::uint64_t kernels = 0, memcpy = 0, memset = 0, graph_launches = 0, syncs = 0;
};

// As JSON and --expect call them.
std::array<std::pair<std::string_view, std::uint64_t>, 5> named(const Totals& totals);

using Quantities = std::vector<std::pair<std::string, double>>;

// What --expect may name.
struct RunCounts {
  Totals totals;
  Quantities quantities;          // in addition to the totals: kernels of each family, such as "gemm"
  std::vector<Quantities> steps;  // both of each step; all steps have the same names
  Quantities kernel_names;        // each name, and how often it ran
};

Quantities all_quantities(const RunCounts& run);  // of the whole trace, with the totals
// The median of each, over the steps that do anything; nothing: there are none.
std::optional<Quantities> typical_counts(const RunCounts& run);

struct Diagnosis {
  std::string path;
  std::string before{};  // the trace that it was compared with; empty: none
  TraceSummary summary;
  RunCounts counts;
  std::optional<RunCounts> counts_before{};  // of the trace that it was compared with
  Verdict verdict;
  std::vector<Finding> findings;  // in the order of the report
};

}  // namespace pel::doctor

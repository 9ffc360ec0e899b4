// What a comparison needs of a trace, without the trace: its typical step as a tree of ops, and counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

struct StepKernel {
  std::string name;
  Category category = Category::Kernel;         // or Memcpy, Memset
  KernelFamily family = KernelFamily::Unknown;  // by its name
  std::string title;                            // as tables show it

  StepKernel(std::string_view kernel_name, Category of);
  bool is_kernel() const { return category == Category::Kernel; }
};

struct StepActivity {
  std::uint32_t kernel = 0;  // of StepSummary::kernels
  std::uint32_t chain = 0;   // of texts: the ops that launched it, "aten::linear > aten::addmm"
  std::int64_t duration_ns = 0;
};

// An op, or the call that launched activities for no op. One without a parent is a thread, and has no name.
struct StepOp {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t name = 0;                   // of texts
  std::uint32_t parent = kNone;             // of ops, before this one
  std::vector<std::uint32_t> activities{};  // its own, of StepSummary::activities
};

struct StepSummary {
  std::string step;       // its name
  std::size_t steps = 0;  // it was chosen from
  TimeShares time;
  std::string device;         // empty: not known
  std::int64_t launches = 0;  // calls of the step that launched something
  std::vector<std::string> texts;
  std::vector<StepKernel> kernels;
  std::vector<StepActivity> activities;
  std::vector<StepOp> ops;  // parents before their children, which are by begin
  RunCounts counts;

  const StepKernel& kernel_of(std::uint32_t activity) const { return kernels[activities[activity].kernel]; }
};

StepSummary summarize(const Examined& examined);

}  // namespace pel::doctor

// The model of a step, compared with sums by hand, and the parsing of durations.
#include "inspect/budget.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "inspect/duration.h"

namespace pel::inspect {
namespace {

TEST(Duration, ParsesCommonUnits) {
  EXPECT_DOUBLE_EQ(parse_duration_ns("120ns").value(), 120);
  EXPECT_DOUBLE_EQ(parse_duration_ns("15us").value(), 15'000);
  EXPECT_DOUBLE_EQ(parse_duration_ns("8\u00b5s").value(), 8'000);
  EXPECT_DOUBLE_EQ(parse_duration_ns("8\u03bcs").value(), 8'000);
  EXPECT_DOUBLE_EQ(parse_duration_ns("1.5ms").value(), 1'500'000);
  EXPECT_DOUBLE_EQ(parse_duration_ns("2 s").value(), 2e9);
  EXPECT_DOUBLE_EQ(parse_duration_ns("0ns").value(), 0);
}

TEST(Duration, RefusesInvalidText) {
  for (const char* text : {"", "8", "us", "8 minutes", "-1us", "1e999s", "nans", "8us8", "8  us", "infs"})
    EXPECT_FALSE(parse_duration_ns(text)) << text;
}

// Simulates the events one by one; step_of has the formula.
double walked(std::int64_t kernels, double dispatch, double kernel, double once, double latency,
              Waiting waiting) {
  double cpu = once, device = 0;
  for (std::int64_t i = 0; i < kernels; ++i) {
    cpu += dispatch;
    device = std::max(device, cpu + latency) + kernel;
    if (waiting == Waiting::Yes) cpu = device;
  }
  return device;
}

TEST(Budget, TheFormulaEqualsASimulationOfTheEvents) {
  for (const Waiting waiting : {Waiting::No, Waiting::Yes}) {
    for (const std::int64_t kernels : {1, 2, 7, 120}) {
      for (const double dispatch : {1.0, 50.0, 15'000.0}) {
        for (const double kernel : {10.0, 50.0, 90'000.0}) {
          for (const double latency : {0.0, 5'000.0}) {
            const double once = 3 * dispatch;
            EXPECT_NEAR(step_of(kernels, dispatch, kernel, once, latency, waiting).step_ns,
                        walked(kernels, dispatch, kernel, once, latency, waiting), 1e-3)
                << kernels << ' ' << dispatch << ' ' << kernel << ' ' << latency;
          }
        }
      }
    }
  }
}

TEST(Budget, AStepOfSmallKernelsIsBoundByDispatch) {
  BudgetOptions options;  // 120 ops, 15 µs, 8 µs
  options.fused_to = 40;
  const Budget budget = Budget::of(options);
  EXPECT_TRUE(budget.is_dispatch_bound);
  EXPECT_DOUBLE_EQ(budget.now.step_ns, 120 * 15'000 + 8'000);
  EXPECT_DOUBLE_EQ(budget.now.device_ns, 960'000);
  // 40 kernels of 24 µs: the device is the bottleneck after the first dispatch.
  EXPECT_DOUBLE_EQ(budget.fused->step_ns, 15'000 + 960'000);
  EXPECT_DOUBLE_EQ(budget.now.step_ns / budget.fused->step_ns, 1'808'000.0 / 975'000.0);
  // One launch of the graph, then the kernels back to back.
  EXPECT_DOUBLE_EQ(budget.replayed.step_ns, 15'000 + 50 + 960'000);
}

TEST(Budget, TheCrossoverIsWhereAKernelTakesAsLongAsItsDispatch) {
  BudgetOptions options;
  const Budget budget = Budget::of(options);
  EXPECT_DOUBLE_EQ(budget.knee_ns, options.dispatch_ns);
  // Left of it the step hardly grows with the kernel; right of it in proportion.
  const auto step = [&](double kernel_ns) { return budget.at(kernel_ns).now.step_ns; };
  EXPECT_LT(step(15'000) / step(7'500), 1.01);
  EXPECT_GT(step(30'000) / step(15'000), 1.98);
  options.kernel_ns = 15'001;
  EXPECT_FALSE(Budget::of(options).is_dispatch_bound);
}

TEST(Budget, FusingGainsNothingIfKernelsAreTheBottleneck) {
  BudgetOptions options;
  options.kernel_ns = 150'000;
  options.fused_to = 12;
  const Budget budget = Budget::of(options);
  EXPECT_DOUBLE_EQ(budget.now.step_ns, budget.fused->step_ns);
  options.fused_kernel_ns = 750'000;  // half of the kernel time is gone
  EXPECT_DOUBLE_EQ(Budget::of(options).fused->step_ns, 15'000 + 12 * 750'000);
}

TEST(Budget, TimesAddUpIfTheCpuWaits) {
  BudgetOptions options;
  options.waiting = Waiting::Yes;
  options.fused_to = 40;
  const Budget budget = Budget::of(options);
  EXPECT_DOUBLE_EQ(budget.now.step_ns, 120 * 23'000);
  EXPECT_DOUBLE_EQ(budget.fused->step_ns, 40 * 15'000 + 960'000);
  EXPECT_DOUBLE_EQ(budget.replayed.step_ns, 15'000 + 120 * 8'050);
}

TEST(Budget, TheRequestedSizeIsListedOnce) {
  for (const double kernel_ns : {8'000.0, 15'000.0, 1.0, 1e9}) {
    BudgetOptions options;
    options.kernel_ns = kernel_ns;
    const Budget budget = Budget::of(options);
    EXPECT_EQ(std::count_if(budget.sizes.begin(), budget.sizes.end(),
                            [&](const Budget::Size& size) { return size.kernel_ns == kernel_ns; }),
              1);
    EXPECT_TRUE(std::is_sorted(budget.sizes.begin(), budget.sizes.end(),
                               [](const auto& a, const auto& b) { return a.kernel_ns < b.kernel_ns; }));
    EXPECT_FALSE(budget.text({}).empty());
  }
}

TEST(Budget, ErrorsSayWhatIsExpected) {
  BudgetOptions options;
  options.fused_to = 121;
  EXPECT_THROW(static_cast<void>(Budget::of(options)), ValueError);
  options.fused_to.reset();
  options.dispatch_ns = 0;
  EXPECT_THROW(static_cast<void>(Budget::of(options)), ValueError);
}

}  // namespace
}  // namespace pel::inspect

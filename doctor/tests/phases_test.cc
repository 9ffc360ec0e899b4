// Phases of a step, and modules.
#include <gtest/gtest.h>

#include "doctor/model/run_phases.h"
#include "doctor/tests/found.h"

namespace pel::doctor {
namespace {

using test::find_event;
using test::found_in;
using test::number_at;
using test::text_at;
using test::TraceText;

constexpr const char* kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

// Data, forward, backward on a second thread with a collective, optimizer.
TraceText training_step() {
  return TraceText()
      .annotation(1, "ProfilerStep#3", 0, 1000)
      .annotation(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 100)
      .op(1, "aten::stack", 10, 50)
      .python(1, "nn.Module: Net_0", 110, 200)
      .python(1, "nn.Module: Linear_0", 120, 100)
      .op(1, "aten::linear", 130, 60, R"("Sequence number": 7, "Fwd thread id": 0)")
      .call(1, "cudaLaunchKernel", 140, 10, 1)
      .kernel(7, "gemm", 160, 40, 1)
      .op(1, "aten::relu", 240, 30, R"("Sequence number": 8, "Fwd thread id": 0)")
      .call(1, "cudaLaunchKernel", 245, 10, 2)
      .kernel(7, "relu", 260, 20, 2)
      .op(2, "autograd::engine::evaluate_function: AddmmBackward0", 400, 100,
          R"("Sequence number": 7, "Fwd thread id": 1)")
      .op(2, "aten::mm", 410, 30)
      .call(2, "cudaLaunchKernel", 415, 10, 3)
      .kernel(7, "gemm", 430, 100, 3)
      .annotation(2, "nccl:all_reduce", 450, 30)
      .call(2, "cudaLaunchKernelExC", 455, 10, 4)
      .kernel(9, kAllReduce, 500, 60, 4)
      .annotation(1, "Optimizer.step#SGD.step", 600, 80)
      .op(1, "aten::add_", 610, 20)
      .call(1, "cudaLaunchKernel", 615, 5, 5)
      .kernel(7, "add", 640, 10, 5)
      .call(1, "cudaDeviceSynchronize", 900, 50, 6);
}

TEST(RunPhases, AreThoseOfTheNearestMark) {
  const Model model = training_step().model();
  RunPhases phases(model);
  const auto of = [&](std::string_view name) { return phases.of(find_event(model, name)); };
  EXPECT_EQ(of("aten::stack"), RunPhase::Data);
  EXPECT_EQ(of("aten::relu"), RunPhase::Forward);
  EXPECT_EQ(of("aten::mm"), RunPhase::Backward);
  EXPECT_EQ(of("cudaLaunchKernelExC"), RunPhase::Communication);
  EXPECT_EQ(of("aten::add_"), RunPhase::Optimizer);
  EXPECT_EQ(of("cudaDeviceSynchronize"), RunPhase::Other);
  EXPECT_EQ(of("ProfilerStep#3"), RunPhase::Other);
}

TEST(Phases, SplitHostAndDeviceTime) {
  const Finding finding = found_in(training_step(), "phases");
  const auto expect = [&](std::size_t row, const char* phase, double device_us, double host_us) {
    EXPECT_EQ(text_at(finding, "phases", row, "phase"), phase);
    EXPECT_EQ(number_at(finding, "phases", row, "device_ns"), 1000 * device_us) << phase;
    EXPECT_EQ(number_at(finding, "phases", row, "host_ns"), 1000 * host_us) << phase;
  };
  expect(0, "forward", 60, 90);
  expect(1, "backward", 100, 70);  // without the collective's 30
  expect(2, "optimizer", 10, 80);
  expect(3, "data", 0, 100);
  expect(4, "communication", 60, 30);
  expect(5, "other", 0, 50);
  EXPECT_EQ(number_at(finding, "hidden_ns"), 30'000);
  EXPECT_EQ(number_at(finding, "exposed_ns"), 30'000);
  EXPECT_EQ(number_at(finding, "hidden"), 50);
  EXPECT_EQ(number_at(finding, "steps", 0, "backward_ns"), 100'000);
  EXPECT_EQ(number_at(finding, "steps", 0, "data_host_ns"), 100'000);
}

TEST(Phases, AreNotShownWhereAllIsForward) {
  EXPECT_TRUE(found_in(TraceText().op(1, "aten::mm", 0, 10), "phases").key.empty());
}

TEST(Modules, HaveTheTimeOfWhatTheyLaunchAndOfItsGradients) {
  const Finding finding = found_in(training_step(), "modules");
  EXPECT_EQ(text_at(finding, "modules", 0, "module"), "Net_0");
  EXPECT_EQ(number_at(finding, "modules", 0, "device_ns"), 60'000);
  EXPECT_EQ(number_at(finding, "modules", 0, "device_self_ns"), 20'000);
  EXPECT_EQ(number_at(finding, "modules", 0, "backward_ns"), 160'000);  // the collective was launched for it
  EXPECT_EQ(number_at(finding, "modules", 0, "backward_self_ns"), 0);
  EXPECT_EQ(number_at(finding, "modules", 0, "kernels"), 4);
  EXPECT_EQ(number_at(finding, "modules", 0, "host_self_ns"), 100'000);
  EXPECT_EQ(text_at(finding, "modules", 1, "module"), "Linear_0");
  EXPECT_EQ(text_at(finding, "modules", 1, "inside"), "Net_0");
  EXPECT_EQ(number_at(finding, "modules", 1, "device_ns"), 40'000);
  EXPECT_EQ(number_at(finding, "modules", 1, "backward_ns"), 160'000);
  EXPECT_EQ(text_at(finding, "classes", 0, "class"), "Linear");
}

TEST(Modules, ThatCallThemselvesCountTheirTimeOnce) {
  const Finding finding = found_in(TraceText()
                                       .python(1, "nn.Module: Tree_0", 0, 100)
                                       .python(1, "nn.Module: Tree_0", 10, 50)
                                       .annotation(1, "MLP", 15, 30)
                                       .call(1, "cudaLaunchKernel", 20, 5, 1)
                                       .kernel(7, "k", 40, 10, 1),
                                   "modules");
  EXPECT_EQ(text_at(finding, "modules", 0, "module"), "Tree_0");
  EXPECT_EQ(number_at(finding, "modules", 0, "calls"), 2);
  EXPECT_EQ(number_at(finding, "modules", 0, "device_ns"), 10'000);
  EXPECT_EQ(number_at(finding, "modules", 0, "host_ns"), 100'000);
  EXPECT_EQ(number_at(finding, "modules", 0, "host_self_ns"), 70'000);
  EXPECT_EQ(text_at(finding, "modules", 1, "kind"), "annotation");
}

}  // namespace
}  // namespace pel::doctor

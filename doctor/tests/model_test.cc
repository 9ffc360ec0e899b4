// What a trace means: nesting, launches, steps, both meanings of External id.
#include "doctor/model/model.h"

#include <limits>

#include <gtest/gtest.h>

#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::find_event;
using test::TraceText;

TEST(NumberBlocks, HoldNumbersOfAnySize) {
  constexpr std::int64_t kSmall = std::numeric_limits<std::int32_t>::max(),
                         kNegative = std::numeric_limits<std::int32_t>::min();
  const std::int64_t numbers[] = {0,
                                  7,
                                  -1,
                                  kSmall - 1,
                                  kSmall,
                                  kSmall + 1,
                                  kNegative,
                                  kNegative + 1,
                                  kNegative - 1,
                                  kNoNumber,
                                  kNoNumber + 1,
                                  std::numeric_limits<std::int64_t>::max()};
  NumberBlocks blocks;
  for (const std::int64_t number : numbers) blocks.push_back(number);
  for (std::size_t i = 0; i < std::size(numbers); ++i) EXPECT_EQ(blocks[i], numbers[i]) << i;
}

TEST(Model, AnOpsChainIsWhatEnclosesItsLaunch) {
  const Model model = TraceText()
                          .python(1, "train.py(3): main", 0, 100)
                          .op(1, "aten::linear", 10, 50)
                          .op(1, "aten::t", 11, 4)
                          .op(1, "aten::addmm", 20, 30)
                          .call(1, "cudaLaunchKernel", 40, 5, 7)
                          .kernel(2, "gemm", 60, 10, 7)
                          .model();
  ASSERT_EQ(model.activities().size(), 1u);
  const Activity& activity = model.activities()[0];
  EXPECT_EQ(model.events().name(activity.launch), "cudaLaunchKernel");
  EXPECT_EQ(model.op_chain(activity.launch), "aten::linear > aten::addmm");
  EXPECT_EQ(model.events().name(model.op_of_activity(activity)), "aten::addmm");
  EXPECT_EQ(model.events().name(model.outermost_op_of(activity.launch)), "aten::linear");
  EXPECT_EQ(model.stack_of(activity.launch, 3), std::vector<std::string>{"train.py(3): main"});
  const RowId row = model.events().row(activity.launch);
  EXPECT_EQ(model.events().name(model.running_at(row, 12'000)), "aten::t");
  EXPECT_EQ(model.events().name(model.running_at(row, 16'000)), "aten::linear");
  EXPECT_EQ(model.events().name(model.running_at(row, 70'000)), "train.py(3): main");
  EXPECT_EQ(model.running_at(row, 100'000), kNoEvent);
}

TEST(Model, OfEqualTimesTheOpIsAroundItsCall) {
  const Model model = TraceText().call(1, "cudaLaunchKernel", 5, 3, 1).op(1, "aten::relu", 5, 3).model();
  EXPECT_EQ(model.parent(find_event(model, "cudaLaunchKernel")), find_event(model, "aten::relu"));
  EXPECT_EQ(model.parent(find_event(model, "aten::relu")), kNoEvent);
}

TEST(Model, ThreadsDoNotEncloseEachOther) {
  const Model model = TraceText().op(1, "aten::mm", 0, 100).call(2, "cudaLaunchKernel", 10, 5, 1).model();
  EXPECT_EQ(model.op_of_launch(find_event(model, "cudaLaunchKernel")), kNoEvent);
}

TEST(Model, AGraphHasOneLaunchAndManyActivities) {
  const Model model = TraceText()
                          .call(1, "cudaGraphLaunch", 0, 10, 3)
                          .kernel(7, "a", 20, 5, 3)
                          .kernel(7, "b", 26, 5, 3)
                          .kernel(8, "c", 26, 5, 3)
                          .kernel(7, "from before", 1, 1, 99)
                          .model();
  EXPECT_EQ(model.launched_by(find_event(model, "cudaGraphLaunch")).size(), 3u);
  EXPECT_EQ(model.activities_without_launch(), 1u);
}

TEST(Model, AnActivityBelongsToTheStepOfItsLaunch) {
  const Model model = TraceText()
                          .annotation(1, "ProfilerStep#4", 0, 100)
                          .annotation(1, "ProfilerStep#5", 100, 100)
                          .call(1, "cudaLaunchKernel", 90, 5, 1)
                          .call(1, "cudaLaunchKernel", 150, 5, 2)
                          .call(1, "cudaLaunchKernel", 250, 5, 3)
                          .kernel(7, "a", 120, 5, 1)
                          .kernel(7, "b", 160, 5, 2)
                          .kernel(7, "c", 260, 5, 3)
                          .model();
  EXPECT_TRUE(model.has_marked_steps());
  ASSERT_EQ(model.steps().size(), 2u);
  EXPECT_EQ(model.steps()[0].name, "ProfilerStep#4");
  EXPECT_EQ(model.activities()[0].step, 0u);
  EXPECT_EQ(model.activities()[1].step, 1u);
  EXPECT_EQ(model.activities()[2].step, kNoStep);
}

TEST(Model, WithoutMarksTheWholeTraceIsOneStep) {
  const Model model = TraceText().kernel(7, "a", 120, 5, 1).op(1, "aten::mm", 10, 5).model();
  EXPECT_FALSE(model.has_marked_steps());
  ASSERT_EQ(model.steps().size(), 1u);
  EXPECT_EQ(model.steps()[0].begin_ns, 10'000);
  EXPECT_EQ(model.steps()[0].end_ns, 125'000);
  EXPECT_EQ(model.activities()[0].step, 0u);
  EXPECT_TRUE(TraceText().model().steps().empty());
}

TEST(Model, ExternalIdsNameOpsOrRepeatCorrelations) {
  const Model of_ops =
      TraceText()
          .op(1, "aten::mm", 0, 20, R"("External id": 5)")
          .call(1, "cudaLaunchKernel", 5, 5, 1, R"("External id": 5)")
          .kernel(7, "a", 30, 5, 1)
          .kernel(7, "launched on a thread that was not recorded", 40, 5, 2, R"("External id": 5)")
          .model();
  EXPECT_EQ(of_ops.external_ids(), ExternalIds::Ops);
  EXPECT_EQ(of_ops.op_of_activity(of_ops.activities()[1]), find_event(of_ops, "aten::mm"));
  const Model of_calls = TraceText()
                             .op(1, "aten::mm", 0, 20, R"("External id": 77)")
                             .call(1, "cudaLaunchKernel", 5, 5, 1, R"("External id": 1)")
                             .kernel(7, "a", 30, 5, 1, R"("External id": 1)")
                             .model();
  EXPECT_EQ(of_calls.external_ids(), ExternalIds::Correlations);
  EXPECT_EQ(of_calls.op_of_activity(of_calls.activities()[0]), find_event(of_calls, "aten::mm"));
}

TEST(Model, ABackwardOpKnowsItsForwardOp) {
  const Model model = TraceText()
                          .op(1, "aten::mm", 0, 20, R"("Sequence number": 12, "Fwd thread id": 0)")
                          .op(2, "autograd::engine::evaluate_function: MmBackward0", 50, 30,
                              R"("Sequence number": 12, "Fwd thread id": 1)")
                          .op(2, "aten::mm of the backward pass", 55, 10)
                          .model();
  EXPECT_EQ(model.forward_of(find_event(model, "aten::mm of the backward pass")),
            find_event(model, "aten::mm"));
  EXPECT_EQ(model.forward_of(find_event(model, "aten::mm")), kNoEvent);
}

TEST(Model, DevicesAreThoseThatTheTraceNames) {
  const Model model =
      TraceText()
          .metadata(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])")
          .kernel(7, "a", 0, 5, 1)
          .model();
  ASSERT_NE(model.device(0), nullptr);
  EXPECT_EQ(model.device(0)->name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(model.device(0)->multiprocessors, 132);
  ASSERT_NE(model.device(2), nullptr);  // as ROCm numbers them
  EXPECT_EQ(model.device(2)->name, "NVIDIA H100 80GB HBM3");
  const Model mixed = TraceText()
                          .metadata(R"("deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}])")
                          .kernel(7, "a", 0, 5, 1)
                          .model();
  EXPECT_EQ(mixed.device(1)->name, "B");
  EXPECT_EQ(mixed.device(2), nullptr);
}

TEST(Model, DeepNestingIsNotFollowedForever) {
  TraceText trace;
  constexpr int kDeep = 3000;
  for (int i = 0; i < kDeep; ++i) trace.op(1, "aten::deep", i, 2.0 * kDeep - 2 * i);
  trace.call(1, "cudaLaunchKernel", kDeep, 0, 1);
  const Model model = trace.model();
  EXPECT_FALSE(model.op_chain(find_event(model, "cudaLaunchKernel")).empty());
}

}  // namespace
}  // namespace pel::doctor

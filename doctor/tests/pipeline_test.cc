// Sends and receives between ranks, and bubbles of a pipeline.
#include <gtest/gtest.h>

#include "doctor/tests/found.h"

namespace pel::doctor {
namespace {

using test::found_in;
using test::number_at;
using test::text_at;
using test::TraceText;

constexpr const char* kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

TEST(Pipeline, BubblesAreTimesWithoutComputeWhileASendOrReceiveRuns) {
  TraceText trace;
  trace.annotation(1, "ProfilerStep#0", 0, 1000);
  trace.call(1, "cudaLaunchKernel", 1, 2, 1).kernel(7, "k", 10, 40, 1);
  trace.op(1, "c10d::recv_", 20, 20)
      .annotation(1, "nccl:recv 1<-0", 22, 15)
      .op(1, "record_param_comms", 23, 10,
          R"("Collective name": "recv", "In msg nelems": 1000, "dtype": "BFloat16", "Src Rank": 0)")
      .call(1, "cudaLaunchKernelExC", 25, 2, 2)
      .kernel(9, kSendRecv, 30, 50, 2);
  trace.call(1, "cudaLaunchKernel", 40, 2, 3).kernel(7, "k", 90, 40, 3);
  // A gap without a transfer is not a bubble, and a transfer during compute makes none.
  trace.call(1, "cudaLaunchKernel", 150, 2, 4).kernel(7, "k", 200, 100, 4);
  trace.annotation(1, "nccl:send 1->2", 210, 15)
      .call(1, "cudaLaunchKernelExC", 215, 2, 5)
      .kernel(9, kSendRecv, 220, 30, 5);
  // An all-to-all uses the same kernel.
  trace.annotation(1, "nccl:all_to_all", 310, 15)
      .call(1, "cudaLaunchKernelExC", 312, 2, 6)
      .kernel(9, kSendRecv, 320, 30, 6);
  const Finding finding = found_in(trace, "pipeline");
  EXPECT_EQ(number_at(finding, "sends"), 1);
  EXPECT_EQ(number_at(finding, "receives"), 1);
  EXPECT_EQ(number_at(finding, "transfer_ns"), 80'000);
  EXPECT_EQ(number_at(finding, "bubbles"), 1);
  EXPECT_EQ(number_at(finding, "bubble_ns"), 40'000);   // from 50 to 90
  EXPECT_EQ(number_at(finding, "exposed_ns"), 30'000);  // the receive, until 80
  EXPECT_EQ(number_at(finding, "steps", 0, "bubble_ns"), 40'000);
  EXPECT_EQ(text_at(finding, "peers", 0, "direction"), "receive");
  EXPECT_EQ(number_at(finding, "peers", 0, "peer"), 0);
  EXPECT_EQ(number_at(finding, "peers", 0, "bytes"), 2000);
  EXPECT_EQ(number_at(finding, "peers", 1, "peer"), 2);
  EXPECT_TRUE(std::isnan(number_at(finding, "peers", 1, "bytes")));
}

TEST(Pipeline, ArgumentsOfTheKernelAreEnough) {
  const Finding finding =
      found_in(TraceText().kernel(
                   9, kSendRecv, 30, 50, 2,
                   R"("Collective name": "send", "In msg nelems": 10, "dtype": "Float", "Dst Rank": 3)"),
               "pipeline");
  EXPECT_EQ(number_at(finding, "peers", 0, "bytes"), 40);
  EXPECT_EQ(number_at(finding, "peers", 0, "peer"), 3);
}

TEST(Pipeline, IsNotShownWithoutSends) {
  EXPECT_TRUE(
      found_in(TraceText().kernel(9, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 0, 50, 2), "pipeline")
          .key.empty());
}

}  // namespace
}  // namespace pel::doctor

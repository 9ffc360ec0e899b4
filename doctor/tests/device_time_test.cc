// Each gap on the device has one cause; what is added up is all of the time.
#include "doctor/model/device_time.h"

#include <gtest/gtest.h>

#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::TraceText;

struct Timed {
  explicit Timed(const TraceText& trace) : model(trace.model()), kernels(model), time(model, kernels) {}
  Model model;
  KernelCatalog kernels;
  DeviceTime time;
};

// Activities that were launched in time, 1 µs apart: what the trace is measured by.
TraceText& queue(TraceText& trace) {
  for (int i = 0; i < 10; ++i) {
    trace.call(1, "cudaLaunchKernel", i, 0.5, 1000 + i);
    trace.kernel(7, "elementwise_kernel", 100 + 11 * i, 10, 1000 + i);
  }
  return trace;  // until 209
}

// The cause of the gap from 209 to 300.
Gap last_gap(TraceText& trace) {
  const Timed timed(trace);
  EXPECT_EQ(timed.time.gaps().back().end_ns, 300'000);
  EXPECT_EQ(timed.time.all().total(),
            timed.model.activities().back().end_ns - timed.model.activities().front().begin_ns);
  return timed.time.gaps().back();
}

TEST(DeviceTime, ALateLaunchIsDispatch) {
  TraceText trace;
  queue(trace).op(1, "aten::relu", 280, 18).call(1, "cudaLaunchKernel", 290, 5, 1).kernel(7, "k", 300, 5, 1);
  const Timed timed(trace);
  EXPECT_EQ(timed.time.gaps().back().cause, IdleCause::Dispatch);
  EXPECT_EQ(timed.model.events().name(timed.time.gaps().back().blame), "aten::relu");
  EXPECT_EQ(timed.time.launch_latency_ns(), 5'000);
  EXPECT_EQ(timed.time.usual_gap_ns(), 1'000);
  EXPECT_EQ(timed.time.all().idle(IdleCause::Latency), 9'000);
  EXPECT_EQ(timed.time.all().busy_ns, 105'000);
}

TEST(DeviceTime, AWaitThatOutlastsTheActivityIsASync) {
  TraceText trace;
  queue(trace)
      .call(1, "cudaStreamSynchronize", 150, 62, 2)
      .call(1, "cudaLaunchKernel", 290, 5, 1)
      .kernel(7, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(trace).cause, IdleCause::Sync);
}

TEST(DeviceTime, ACopyToTheHostThatIsWaitedForIsASync) {
  TraceText trace;
  queue(trace)
      .call(1, "cudaMemcpyAsync", 50, 162, 2)
      .copy(7, "Memcpy DtoH (Device -> Pageable)", 200, 9, 2)
      .call(1, "cudaLaunchKernel", 290, 5, 1)
      .kernel(7, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(trace).cause, IdleCause::Sync);
}

TEST(DeviceTime, AShortWaitInsideAGapIsNotItsCause) {
  TraceText trace;
  queue(trace)
      .call(1, "cudaStreamSynchronize", 250, 5, 2)
      .call(1, "cudaLaunchKernel", 290, 5, 1)
      .kernel(7, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(trace).cause, IdleCause::Dispatch);
}

TEST(DeviceTime, LoadingGuardsAllocationAndTheProfilerAreTold) {
  const auto cause_of = [](auto&& add) {
    TraceText trace;
    queue(trace);
    add(trace);
    trace.call(1, "cudaLaunchKernel", 290, 5, 1).kernel(7, "k", 300, 5, 1);
    return last_gap(trace).cause;
  };
  EXPECT_EQ(cause_of([](TraceText& t) { t.annotation(1, "enumerate(DataLoader)#_Iter.__next__", 210, 70); }),
            IdleCause::Input);
  EXPECT_EQ(cause_of([](TraceText& t) { t.annotation(1, "enumerate(DataLoader)#_Iter.__next__", 210, 20); }),
            IdleCause::Dispatch);
  EXPECT_EQ(cause_of([](TraceText& t) { t.op(1, "TorchDynamo Cache Lookup", 210, 70); }), IdleCause::Guards);
  EXPECT_EQ(cause_of([](TraceText& t) { t.call(1, "cudaMalloc", 210, 70, 9); }), IdleCause::Allocation);
  EXPECT_EQ(cause_of([](TraceText& t) { t.span("overhead", -1, 0, "Buffer Flush", 210, 70, ""); }),
            IdleCause::Profiler);
  EXPECT_EQ(cause_of([](TraceText& t) { t.annotation(9, "enumerate(DataLoader)#_Iter.__next__", 210, 70); }),
            IdleCause::Dispatch);  // a thread that launches nothing
}

TEST(DeviceTime, WhatWasAskedForLongBeforeIsNotTheHostsFault) {
  TraceText late;
  queue(late).call(1, "cudaLaunchKernel", 20, 1, 1).kernel(7, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(late).cause, IdleCause::Unexplained);
  TraceText other_stream;
  queue(other_stream).call(1, "cudaLaunchKernel", 20, 1, 1).kernel(8, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(other_stream).cause, IdleCause::Dependency);
  TraceText unknown;
  queue(unknown).kernel(7, "k", 300, 5, 1);
  EXPECT_EQ(last_gap(unknown).cause, IdleCause::NoLaunch);
}

TEST(DeviceTime, CollectivesAloneAreCountedWhereNothingElseRuns) {
  const Timed timed(
      TraceText()
          .kernel(7, "elementwise_kernel", 0, 10, 1)
          .kernel(8, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 5, 30, 2)
          .kernel(7, "elementwise_kernel", 20, 5, 3));
  EXPECT_EQ(timed.time.all().busy_ns, 35'000);
  EXPECT_EQ(timed.time.all().communication_ns, 20'000);
}

TEST(DeviceTime, StepsHaveTheirShare) {
  const Timed timed(TraceText()
                        .annotation(1, "ProfilerStep#1", 0, 50)
                        .annotation(1, "ProfilerStep#2", 50, 50)
                        .call(1, "cudaLaunchKernel", 10, 1, 1)
                        .call(1, "cudaLaunchKernel", 70, 1, 2)
                        .kernel(7, "a", 12, 20, 1)
                        .kernel(7, "b", 72, 20, 2));
  ASSERT_EQ(timed.time.of_steps().size(), 2u);
  EXPECT_EQ(timed.time.of_steps()[0].total(), 20'000);
  EXPECT_EQ(timed.time.of_steps()[1].total(), 60'000);
  EXPECT_EQ(timed.time.of_steps()[1].idle(IdleCause::Dispatch), 40'000);
}

}  // namespace
}  // namespace pel::doctor

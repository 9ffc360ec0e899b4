// A machine of a few rules that runs steps and writes what a profiler would have seen: a trace whose truth is
// known, since the same run can be made again with other costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "doctor/tests/trace_text.h"

namespace pel::test {

struct RunCosts {
  double dispatch = 20;       // microseconds of the host for one op, its launch among them
  double kernel = 15;         // of one kernel, on average
  double loading = 0;         // of the host, at the beginning of each step
  int sync_every = 0;         // ops; 0: never
  double latency = 4;         // from the end of a launch to its kernel, where the device is free
  double gap = 1;             // between kernels in a queue
  double wake = 5;            // from the end of a kernel to the end of the call that waited for it
  bool has_backward = false;  // a second thread launches the second half of a step
  bool has_communication =
      false;  // each tenth op is sent by a second stream, which the step's last op waits for
};

class MadeRun {
 public:
  MadeRun(const RunCosts& costs, int steps, int ops, unsigned seed) : costs_(costs) {
    std::mt19937 random(seed);
    for (int step = 0; step < steps; ++step) {
      const double begin = host_;
      if (costs.loading > 0) {
        trace_.annotation(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", host_,
                          costs.loading);
        host_ += costs.loading;
      }
      double sent = 0;
      for (int op = 0; op < ops; ++op) {
        const int thread = costs.has_backward && op >= ops / 2 ? 2 : 1;
        const double duration = costs.kernel * (0.5 + static_cast<double>(random() % 1000) / 1000);
        double wait_for = 0;
        if (costs.has_communication && op + 1 == ops) {
          call(thread, "cudaStreamWaitEvent", 1);
          wait_for = sent;
        }
        launch(thread, 7, stream_, duration, "void at::native::vectorized_elementwise_kernel<4, X>()",
               wait_for);
        if (costs.has_communication && op % 10 == 3 && op + 1 != ops) {
          call(thread, "cudaStreamWaitEvent", 1);
          launch(thread, 20, communication_, 3 * costs.kernel,
                 "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", stream_);
          sent = communication_;
        }
        if (costs.sync_every > 0 && op % costs.sync_every == costs.sync_every - 1) wait(thread);
      }
      trace_.annotation(1, "ProfilerStep#" + std::to_string(step), begin, host_ - begin);
    }
  }
  const TraceText& trace() const { return trace_; }
  double span() const { return std::max(stream_, communication_) - first_; }

 private:
  void call(int thread, const char* name, double duration) {
    trace_.call(thread, name, host_, duration, ++correlation_);
    host_ += duration;
  }
  void launch(int thread, int stream, double& free, double duration, const char* kernel, double wait_for) {
    const double op_begin = host_, call_begin = host_ + 0.6 * costs_.dispatch,
                 call_end = host_ + 0.9 * costs_.dispatch;
    host_ += costs_.dispatch;
    trace_.op(thread, "aten::add", op_begin, costs_.dispatch);
    trace_.call(thread, "cudaLaunchKernel", call_begin, call_end - call_begin, ++correlation_);
    double begin = call_end + costs_.latency;
    if (free > 0) begin = std::max(begin, free + costs_.gap);
    if (wait_for > 0) begin = std::max(begin, wait_for + costs_.gap);
    trace_.kernel(stream, kernel, begin, duration, correlation_);
    if (first_ == 0) first_ = begin;
    free = begin + duration;
  }
  void wait(int thread) {
    const double end = std::max(host_ + 2, stream_ + costs_.wake);
    trace_.call(thread, "cudaStreamSynchronize", host_, end - host_, ++correlation_);
    host_ = end;
  }

  RunCosts costs_;
  TraceText trace_;
  double host_ = 1000, stream_ = 0, communication_ = 0, first_ = 0;
  int correlation_ = 0;
};

}  // namespace pel::test

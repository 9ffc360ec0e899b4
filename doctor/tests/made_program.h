// Programs that are written with a known mistake and without it, and run by a machine of a few rules: what
// following a prescription gains is the difference of the two runs.
#pragma once

#include <algorithm>
#include <string>

#include "doctor/tests/trace_text.h"

namespace pel::test {

// Times are microseconds. One thread launches on one stream, and sends on another.
class MadeProgram {
 public:
  static constexpr double kDispatch = 8, kLaunch = 4, kLatency = 3, kGap = 1, kWake = 5;

  MadeProgram() {
    trace_.metadata(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])");
  }

  template <class Body>
  void step(Body body) {
    within("ProfilerStep#" + std::to_string(steps_++), body);
  }
  template <class Body>
  void within(const std::string& name, Body body) {
    const double begin = host_;
    body();
    trace_.annotation(1, name, begin, host_ - begin);
  }
  template <class Body>
  void in_function(const std::string& frame, Body body) {
    const double begin = host_;
    body();
    trace_.python(1, frame, begin, host_ - begin);
  }
  template <class Body>
  void around(const std::string& op, Body body, const std::string& args = "") {  // an op that calls others
    const double begin = host_;
    body();
    trace_.op(1, op, begin, host_ - begin, args);
  }
  void host(double duration) { host_ += duration; }
  void overhead(const std::string& name, double duration) {
    trace_.span("overhead", 1, 1, name, host_, duration, "");
    host_ += duration;
  }

  // An op that launches one kernel.
  void op(const std::string& name, const std::string& kernel, double duration, const std::string& args = "",
          double dispatch = kDispatch, int blocks = 1024) {
    const double begin = host_;
    host_ += dispatch - kLaunch;
    launch("cudaLaunchKernel");
    run(kernel, duration, blocks);
    trace_.op(1, name, begin, host_ - begin, args);
  }
  // Kernels of a captured graph: the first when it is launched, the others after it.
  void launch_graph() { launch("cudaGraphLaunch"); }
  void graph_kernel(const std::string& kernel, double duration, int blocks = 1024) {
    run(kernel, duration, blocks);
  }

  void copy_to_device(double duration, bool is_pageable) {
    around("aten::copy_", [&] {
      host_ += kDispatch - kLaunch;
      launch("cudaMemcpyAsync");
      const double begin = next_begin(stream_);
      trace_.copy(7, is_pageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)",
                  begin, duration, correlation_, R"("bytes": 4000000)");
      finish(begin, duration);
      if (is_pageable) wait();
    });
  }
  void wait() {
    const double end = std::max(host_ + 2, stream_ + kWake);
    trace_.call(1, "cudaStreamSynchronize", host_, end - host_, ++correlation_);
    host_ = end;
  }
  void item() {
    around("aten::item", [&] { around("aten::_local_scalar_dense", [&] { wait(); }); });
  }
  void call(const std::string& name, double duration, bool waits = false) {
    const double end = std::max(host_ + duration, waits ? stream_ + kWake : 0);
    trace_.call(1, name, host_, end - host_, ++correlation_);
    host_ = end;
  }
  void send(double duration, int elements = 0) {  // once the stream has come so far
    call("cudaStreamWaitEvent", 1);
    const double ready = stream_;
    around("c10d::allreduce_", [&] {
      host_ += kDispatch - kLaunch;
      launch("cudaLaunchKernel");
      const double begin = std::max(next_begin(sent_), ready + kGap);
      trace_.kernel(
          20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin, duration,
          correlation_,
          elements == 0
              ? std::string()
              : fmt::format(R"("Collective name": "allreduce", "In msg nelems": {}, "Out msg nelems": {}, )"
                            R"("dtype": "Float", "Group size": 8)",
                            elements, elements));
      sent_ = begin + duration;
      note(begin);
    });
  }
  void wait_for_sent() {  // the stream, not the host
    call("cudaStreamWaitEvent", 1);
    waits_for_ = sent_;
  }

  const TraceText& trace() const { return trace_; }
  double host_time() const { return host_; }
  double span() const { return std::max(stream_, sent_) - first_; }

 private:
  void launch(const char* name) {
    trace_.call(1, name, host_, kLaunch, ++correlation_);
    host_ += kLaunch;
    launched_ = host_;
  }
  double next_begin(double free) const {
    double begin = launched_ + kLatency;
    if (free > 0) begin = std::max(begin, free + kGap);
    return begin;
  }
  void run(const std::string& kernel, double duration, int blocks) {
    double begin = next_begin(stream_);
    if (waits_for_ > 0) begin = std::max(begin, waits_for_ + kGap);
    waits_for_ = 0;
    trace_.kernel(7, kernel, begin, duration, correlation_,
                  fmt::format(R"("grid": [{}, 1, 1], "block": [256, 1, 1])", blocks));
    finish(begin, duration);
  }
  void finish(double begin, double duration) {
    stream_ = begin + duration;
    note(begin);
  }
  void note(double begin) { first_ = first_ == 0 ? begin : std::min(first_, begin); }

  TraceText trace_;
  double host_ = 1000, launched_ = 0, stream_ = 0, sent_ = 0, waits_for_ = 0, first_ = 0;
  int correlation_ = 0, steps_ = 0;
};

}  // namespace pel::test

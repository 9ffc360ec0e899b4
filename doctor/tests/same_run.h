// One run in several formats: the events of a made trace, to be written again as other profilers would have.
// All are made by the published schemas, not by those profilers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/readers/kineto.h"
#include "doctor/report/json.h"
#include "doctor/tests/sources.h"
#include "doctor/tests/trace_text.h"

namespace pel::test {

struct RunEvent {
  doctor::Category category = doctor::Category::None;
  std::string name;
  std::int64_t process = 0, thread = 0;  // of device activity: the device and its stream
  std::int64_t begin_ns = 0, duration_ns = 0;
  std::int64_t correlation = -1, bytes = -1;  // -1: none
  bool has_grid = false;
  std::array<std::int64_t, 3> grid{}, block{};

  bool is_device() const {
    return category == doctor::Category::Kernel || category == doctor::Category::Memcpy ||
           category == doctor::Category::Memset;
  }
  bool is_step() const { return name.starts_with("ProfilerStep#"); }
  std::string step_number() const { return name.substr(name.find('#') + 1); }
  std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

inline std::vector<RunEvent> events_of(const TraceText& trace) {
  std::vector<RunEvent> events;
  TextSource source(trace.text(), 1000);
  read_kineto(source, [&](const doctor::TraceEvent& e) {
    if (e.phase != doctor::Phase::Span) return;
    RunEvent& event = events.emplace_back();
    event.category = e.category;
    event.name = e.name;
    event.process = e.process.number;
    event.thread = e.thread.number;
    event.begin_ns = e.begin_ns;
    event.duration_ns = e.duration_ns;
    event.correlation = e.get(doctor::Arg::Correlation, -1);
    event.bytes = e.get(doctor::Arg::Bytes, -1);
    event.has_grid = e.has_grid && e.has_block;
    if (event.has_grid) event.grid = e.grid, event.block = e.block;
  });
  return events;
}

// "1234.567" of nanoseconds.
inline std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// As PyTorch's profiler would have written it; `step_label` is added to the names of steps.
inline std::string kineto_of(const std::vector<RunEvent>& events, const std::string& metadata,
                             const std::string& step_label) {
  std::string text = "{" + metadata + "\"traceEvents\": [";
  for (const RunEvent& e : events) {
    std::string args;
    const auto add = [&](std::string_view key, const std::string& value) {
      args += fmt::format(R"({}"{}": {})", args.empty() ? "" : ", ", key, value);
    };
    if (e.correlation >= 0) add("correlation", std::to_string(e.correlation));
    if (e.bytes >= 0) add("bytes", std::to_string(e.bytes));
    if (e.is_device()) add("device", std::to_string(e.process)), add("stream", std::to_string(e.thread));
    if (e.has_grid) {
      add("grid", fmt::format("[{}, {}, {}]", e.grid[0], e.grid[1], e.grid[2]));
      add("block", fmt::format("[{}, {}, {}]", e.block[0], e.block[1], e.block[2]));
    }
    std::string name = e.name;
    if (e.is_step() && !step_label.empty())
      name += " (" + fmt::format(fmt::runtime(step_label), e.step_number()) + ")";
    text += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        text.ends_with('[') ? "" : ",\n", doctor::name(e.category), name, e.process, e.thread,
        microseconds(e.begin_ns), microseconds(e.duration_ns), args);
  }
  return text + "]}";
}

// As JAX writes a GPU's: a process for the host, one for each device.
inline std::string xla_of(const std::vector<RunEvent>& events) {
  std::string text = R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[)";
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},)";
  text += R"({"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},)";
  for (const int stream : {7, 20})
    text += fmt::format(
        R"json({{"ph":"M","pid":1,"tid":{0},"name":"thread_name","args":{{"name":"Stream #{0}(Compute,MemcpyD2H)"}}}},)json",
        stream);
  text += R"json({"ph":"M","pid":1,"tid":99,"name":"thread_name","args":{"name":"XLA Modules"}},)json";
  text += R"json({"ph":"X","pid":1,"tid":99,"ts":1,"dur":5,"name":"jit_step(1)"},)json";
  for (const RunEvent& e : events) {
    std::string args, name = e.name;
    const auto add = [&](std::string_view key, const std::string& value) {
      args += fmt::format(R"({}"{}":"{}")", args.empty() ? "" : ",", key, value);
    };
    if (e.correlation >= 0) add("correlation_id", std::to_string(e.correlation));
    if (e.is_step()) {
      add("step_num", e.step_number());
      name = "train";
    } else if (e.category == doctor::Category::PythonFunction) {
      name = "$" + name;
    } else if (e.category == doctor::Category::Kernel && e.has_grid) {
      add("kernel_details",
          fmt::format("regs:32 static_shared:0 dynamic_shared:0 grid:{},{},{} block:{},{},{} "
                      "occ_pct:50",
                      e.grid[0], e.grid[1], e.grid[2], e.block[0], e.block[1], e.block[2]));
    } else if (e.category == doctor::Category::Memcpy) {
      const bool is_to_host = name.find("DtoH") != std::string::npos;
      name = is_to_host ? "MemcpyD2H" : "MemcpyH2D";
      add("memcpy_details",
          fmt::format("kind_src:{} kind_dst:{} size:{} dest:0 async:1", is_to_host ? "device" : "pageable",
                      is_to_host ? "pageable" : "device", e.bytes));
    } else if (e.category == doctor::Category::Memset) {
      add("memset_details", fmt::format("kind:device num_bytes:{} async:1", e.bytes));
    }
    text += fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}"{}}},)",
                        e.is_device() ? 1 : 701, e.thread, microseconds(e.begin_ns),
                        microseconds(e.duration_ns), name, args.empty() ? "" : ",\"args\":{" + args + "}");
  }
  return text + "{}]}";
}

// All that a diagnosis says, but the file and how it was read.
inline std::string said_about(doctor::ByteSource& source) {
  doctor::Diagnosis diagnosis = diagnose(doctor::Examination(source));
  diagnosis.path.clear();
  diagnosis.summary = {};
  doctor::Report report;
  report.traces.push_back({std::move(diagnosis)});
  return json_report(report);
}
inline std::string said_about(const std::string& bytes) {
  TextSource source(bytes, 1000);
  return said_about(source);
}

// Steps with ops, launches, kernels with their grids, copies to and from the host, a memset and waits.
inline TraceText mixed_run(int steps) {
  TraceText trace;
  for (int step = 0; step < steps; ++step) {
    const double t = 1000 + 500 * step;
    const int id = 10 * step;
    trace.annotation(1, "ProfilerStep#" + std::to_string(step), t, 480)
        .op(1, "aten::mm", t + 10, 20)
        .call(1, "cudaLaunchKernel", t + 15, 5, id + 1)
        .kernel(7, "ampere_sgemm_128x64_nn", t + 25, 60, id + 1, R"("grid": [4, 2, 1], "block": [128, 1, 1])")
        .op(1, "aten::zero_", t + 40, 15)
        .call(1, "cudaMemsetAsync", t + 45, 5, id + 2)
        .span("gpu_memset", 0, 7, "Memset (Device)", t + 90, 2,
              fmt::format(R"("correlation": {}, "device": 0, "stream": 7, "bytes": 4096)", id + 2));
    for (int i = 0; i < 3; ++i)
      trace.op(1, i == 1 ? "aten::mul" : "aten::add", t + 60 + 20 * i, 15)
          .call(1, "cudaLaunchKernel", t + 65 + 20 * i, 5, id + 3 + i)
          .kernel(i == 2 ? 20 : 7,
                  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()",
                  t + 100 + 20 * i, 8, id + 3 + i, R"("grid": [8, 1, 1], "block": [256, 1, 1])");
    trace.op(1, "aten::item", t + 150, 150)
        .call(1, "cudaMemcpyAsync", t + 155, 5, id + 6)
        .copy(7, "Memcpy DtoH (Device -> Pageable)", t + 170, 3, id + 6, R"("bytes": 4)")
        .call(1, "cudaStreamSynchronize", t + 165, 60, id + 7)
        .op(1, "aten::copy_", t + 310, 40)
        .call(1, "cudaMemcpyAsync", t + 315, 25, id + 8)
        .copy(7, "Memcpy HtoD (Pageable -> Device)", t + 330, 30, id + 8, R"("bytes": 1048576)");
  }
  return trace;
}

}  // namespace pel::test

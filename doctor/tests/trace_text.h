// Small traces by hand: each line is one event, times are microseconds.
#pragma once

#include <string>

#include <fmt/format.h>

#include "doctor/model/device_time.h"
#include "doctor/tests/sources.h"

namespace pel::test {

class TraceText {
 public:
  TraceText& op(int thread, const std::string& name, double begin, double duration,
                const std::string& args = "") {
    return span("cpu_op", 1, thread, name, begin, duration, args);
  }
  TraceText& annotation(int thread, const std::string& name, double begin, double duration) {
    return span("user_annotation", 1, thread, name, begin, duration, "");
  }
  TraceText& python(int thread, const std::string& name, double begin, double duration) {
    return span("python_function", 1, thread, name, begin, duration, "");
  }
  TraceText& call(int thread, const std::string& name, double begin, double duration, int correlation,
                  const std::string& args = "") {
    return span("cuda_runtime", 1, thread, name, begin, duration, with("correlation", correlation, args));
  }
  TraceText& kernel(int stream, const std::string& name, double begin, double duration, int correlation,
                    const std::string& args = "") {
    return activity("kernel", stream, name, begin, duration, correlation, args);
  }
  TraceText& copy(int stream, const std::string& name, double begin, double duration, int correlation,
                  const std::string& args = "") {
    return activity("gpu_memcpy", stream, name, begin, duration, correlation, args);
  }
  TraceText& span(const std::string& category, int process, int thread, const std::string& name, double begin,
                  double duration, const std::string& args) {
    if (!events_.empty()) events_ += ",\n";
    events_ += fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        category, name, process, thread, begin, duration, args);
    return *this;
  }
  // An allocation, or with negative bytes a free, on device 0, and the totals after it.
  TraceText& memory(int thread, double at, std::int64_t address, std::int64_t bytes, std::int64_t allocated,
                    std::int64_t reserved) {
    return instant(
        thread, at,
        fmt::format(
            R"("Device Type": 1, "Device Id": 0, "Addr": {}, "Bytes": {}, "Total Allocated": {}, "Total Reserved": {})",
            address, bytes, allocated, reserved));
  }
  TraceText& instant(int thread, double at, const std::string& args) {
    if (!events_.empty()) events_ += ",\n";
    events_ += fmt::format(
        R"({{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": {}, "ts": {:.3f}, "args": {{{}}}}})",
        thread, at, args);
    return *this;
  }
  TraceText& metadata(const std::string& json) {
    metadata_ += json + ", ";
    return *this;
  }
  std::string text() const { return "{" + metadata_ + "\"traceEvents\": [\n" + events_ + "\n]}"; }

  doctor::Model model() const {
    TextSource source(text(), 1000);
    doctor::EventTable table;
    doctor::TraceSummary summary = read_kineto(source, [&](const doctor::TraceEvent& e) { table.take(e); });
    return doctor::Model(std::move(table), std::move(summary));
  }

 private:
  static std::string with(const std::string& key, int value, const std::string& more) {
    return fmt::format(R"("{}": {}{}{})", key, value, more.empty() ? "" : ", ", more);
  }
  TraceText& activity(const std::string& category, int stream, const std::string& name, double begin,
                      double duration, int correlation, const std::string& args) {
    return span(
        category, 0, stream, name, begin, duration,
        with("correlation", correlation,
             fmt::format(R"("device": 0, "stream": {}{}{})", stream, args.empty() ? "" : ", ", args)));
  }
  std::string events_, metadata_;
};

// The event of that name, the first one.
inline doctor::EventId find_event(const doctor::Model& model, std::string_view name) {
  for (doctor::EventId e = 0; e < model.events().size(); ++e) {
    if (model.events().name(e) == name) return e;
  }
  return doctor::kNoEvent;
}

}  // namespace pel::test

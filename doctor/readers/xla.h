// Traces of XLA, which jax.profiler and TensorBoard's plugin write (*.trace.json.gz): events without a
// category, on processes named /host:CPU and /device:GPU:0, with arguments that are all text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "doctor/readers/trace_event.h"

namespace pel::doctor {

class XlaEvents {
 public:
  XlaEvents();
  ~XlaEvents();
  XlaEvents(const XlaEvents&) = delete;
  XlaEvents& operator=(const XlaEvents&) = delete;

  // Returns an event of XLA as PyTorch's profiler would have written it, and any other as it is. Events come
  // in the order of the document; what is returned is valid until the next call.
  const TraceEvent& read(const TraceEvent& event) {
    if (event.phase == Phase::Metadata) note_row(event);
    const bool may_be_xla = event.phase == Phase::Span && event.category_text.empty() && !processes_.empty();
    return may_be_xla ? read_span(event) : event;
  }

 private:
  struct Process {
    bool is_host = false, is_gpu = false;
    std::int64_t device = 0;
    std::map<std::int64_t, std::string> rows;  // of a device: the names of its threads, by number
  };
  struct Args;

  void note_row(const TraceEvent& event);
  const TraceEvent& read_span(const TraceEvent& event);
  void read_host(const Args& args);
  void read_device(const Process& process, const Args& args);

  std::map<std::int64_t, Process> processes_;  // those of XLA
  TraceEvent event_;                           // the one that read() returns
  std::string name_;
  std::unique_ptr<Args> args_;
};

}  // namespace pel::doctor

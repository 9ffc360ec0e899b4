// What ran: the launch counter, and a recording of kernel launches.
#pragma once

#include <cstdint>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/device.h"

namespace pel {

// Kernels launched by this thread since it started. Views launch none.
PEL_API std::uint64_t launch_count();

// One thing that happened. Plain data: a per-thread buffer of these costs no allocation per event.
struct Event {
  enum class Kind : std::uint8_t { Kernel, Op, Sync, Allocation, Compile, Range };
  Kind kind;
  Device device;
  std::uint32_t thread;    // small number, in order of first event
  const char* name;        // lives as long as the process
  const char* op;          // the op whose kernel list was asked, or null
  std::uint64_t begin_ns;  // steady clock
  std::uint64_t end_ns;
  std::uint64_t bytes_read;  // elements addressed × element size; a broadcast element counts once
  std::uint64_t bytes_written;
  std::uint64_t flops;
};

// Keeps the events of this thread while it is in scope. Recordings nest: the innermost keeps them.
class PEL_API Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  const std::vector<Event>& events() const { return events_; }
  void add(const Event& event) { events_.push_back(event); }

 private:
  std::vector<Event> events_;
  Recording* outer_;
};

}  // namespace pel

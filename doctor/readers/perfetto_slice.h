// Slices of Perfetto's tracks as events of PyTorch's profiler.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/readers/event_counts.h"
#include "doctor/readers/trace_event.h"

namespace pel::doctor {

// A row of the trace: a thread, a process, or what the writer declares.
struct PerfettoTrack {
  std::uint64_t parent = 0;
  std::optional<std::int64_t> process, thread;
  std::int64_t ordinal = 0;  // in the order of their first use
};

// What is known when it begins; annotations may also stand at its end.
struct PerfettoSlice {
  std::int64_t begin_ns = 0;
  std::string name, category;
  std::uint64_t args_there = 0;
  std::array<std::int64_t, kArgCount> args{};
  std::array<std::int64_t, 3> grid{}, block{};
  bool has_grid = false, has_block = false;
  std::int64_t grid_items = 0, block_items = 0;  // of rocprofv3: the products of the sizes, in work-items
  std::optional<std::int64_t> flow;

  void set(Arg arg, std::int64_t value);
  // An annotation by its name; others have no meaning here.
  void annotate(std::string_view annotation, std::int64_t value);
  void annotate(std::string_view annotation, const std::array<std::int64_t, 3>& values);
  void add_end(const PerfettoSlice& end);
};

class SliceReader {
 public:
  SliceReader(EventVisitor visit, EventCounts& counts) : visit_(visit), counts_(counts) {}
  // Visits the slice as an event. `process`: that of the track, or of a track around it.
  void finish(const PerfettoSlice& slice, const PerfettoTrack& track, std::int64_t process,
              std::int64_t end_ns);

 private:
  void set_category(const PerfettoSlice& slice, TraceEvent& event);

  EventVisitor visit_;
  EventCounts& counts_;
  std::string scratch_;
};

}  // namespace pel::doctor

// The spans of a trace in columns, 29 bytes each; fields of few events are in sparse columns.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "doctor/model/blocks.h"
#include "doctor/model/event_index.h"
#include "doctor/model/memory_events.h"
#include "doctor/model/names.h"
#include "doctor/model/saturating.h"
#include "doctor/readers/trace_event.h"

namespace pel::doctor {

using EventId = std::uint32_t;  // in the order of the document
inline constexpr EventId kNoEvent = std::numeric_limits<EventId>::max();
inline constexpr std::int64_t kNoNumber = std::numeric_limits<std::int64_t>::min();

using RowId = std::uint32_t;
struct Row {
  std::int64_t process = 0, thread = 0;
  std::string process_text, thread_text;  // where the trace has no number
  std::string process_name, thread_name;  // as its metadata calls them
};

// How a kernel was launched. 0 and below: the trace does not say.
struct LaunchShape {
  std::array<std::int32_t, 3> grid{}, block{};
  std::int32_t registers = -1, shared_bytes = -1;
  float occupancy_percent = -1, blocks_per_multiprocessor = -1;

  std::int64_t blocks() const { return saturating_mul(std::int64_t{grid[0]} * grid[1], grid[2]); }
  std::int64_t threads() const { return saturating_mul(std::int64_t{block[0]} * block[1], block[2]); }
};

// A sparse column for device activities.
struct DeviceArgs {
  EventId event;
  std::int32_t device, stream;
  NameId shape;             // of a kernel: EventTable::launch_shape
  std::int64_t bytes = -1;  // of a copy
};
struct OpShapes {
  EventId event;
  NameId sizes, types, strides;  // as JSON
};
// Of a convolution: stride, padding and the like as JSON, a text for each input.
struct ConcreteInputs {
  EventId event;
  NameId text;
};
// What the profiler counted for an op (with_flops=True), or for a kernel.
struct CountedWork {
  EventId event;
  std::int64_t flops, bytes;  // bytes: -1 if it counted none
};
struct OpSequence {
  EventId event;
  std::uint32_t sequence, forward_thread;
};
struct CallStack {
  EventId event;
  NameId text;
};
// Of a call that waits: why, and the commands that had not ended when it began.
struct WaitReason {
  EventId event;
  NameId why;
  std::int64_t queued;  // kNoNumber: not known
};
struct CollectiveArgs {
  EventId event;
  NameId name, group, dtype;
  std::int64_t elements, sequence, ranks;  // kNoNumber: not known
  std::int64_t source, destination;        // of a send or a receive: ranks; kNoNumber: not known
};

// What some of the events have, ordered by event.
template <class T>
class SparseColumn {
 public:
  void push_back(T entry) {
    index_.add(entry.event, entries_.size());
    entries_.push_back(entry);
  }
  std::size_t size() const { return entries_.size(); }
  const T& operator[](std::size_t i) const { return entries_[i]; }
  // Null if it has none.
  const T* find(EventId e) const {
    auto [low, high] = index_.find(e, entries_.size());
    while (low < high && entries_[low].event < e) ++low;
    return low < high && entries_[low].event == e ? &entries_[low] : nullptr;
  }

 private:
  Blocks<T> entries_;
  EventIndex index_;
};

class EventTable {
 public:
  void take(const TraceEvent& event);  // keeps spans, allocations, and names of rows

  std::size_t size() const { return begins_.size(); }
  Category category(EventId e) const { return categories_[e]; }
  std::int64_t begin_ns(EventId e) const { return begins_[e]; }
  std::int64_t end_ns(EventId e) const { return begins_[e] + durations_[e]; }
  std::int64_t duration_ns(EventId e) const { return durations_[e]; }
  NameId name_id(EventId e) const { return names_of_[e]; }
  std::string_view name(EventId e) const { return names[names_of_[e]]; }
  RowId row(EventId e) const { return rows_of_[e]; }
  std::int64_t correlation(EventId e) const { return correlations_[e]; }
  std::int64_t external_id(EventId e) const { return external_ids_[e]; }

  bool is_device_activity(EventId e) const {
    return category(e) == Category::Kernel || category(e) == Category::Memcpy ||
           category(e) == Category::Memset;
  }
  bool is_call(EventId e) const {
    return category(e) == Category::Runtime || category(e) == Category::Driver;
  }
  bool is_graph_launch(EventId e) const { return is_call(e) && words_of(e).has_graph_launch; }
  bool is_sync_call(EventId e) const { return is_call(e) && words_of(e).has_synchronize; }
  bool is_loading(EventId e) const { return !is_call(e) && words_of(e).has_data_loader; }
  // What threads of the host did, one thing inside the other.
  bool is_on_host(EventId e) const {
    return is_call(e) || category(e) == Category::CpuOp || category(e) == Category::UserAnnotation ||
           category(e) == Category::PythonFunction || category(e) == Category::Overhead;
  }

  // Null if it has none.
  const DeviceArgs* device_args(EventId e) const { return device_args_.find(e); }
  const OpShapes* shapes(EventId e) const { return shapes_.find(e); }
  const OpSequence* sequence(EventId e) const { return sequences_.find(e); }
  const CallStack* call_stack(EventId e) const { return call_stacks_.find(e); }
  const WaitReason* wait_reason(EventId e) const { return wait_reasons_.find(e); }
  const CollectiveArgs* collective(EventId e) const { return collectives_.find(e); }
  const ConcreteInputs* concrete_inputs(EventId e) const { return concrete_inputs_.find(e); }
  const CountedWork* counted_work(EventId e) const { return counted_work_.find(e); }
  std::size_t collective_count() const { return collectives_.size(); }
  const CollectiveArgs& collective_at(std::size_t i) const { return collectives_[i]; }
  const MemoryEvents& memory() const { return memory_; }
  LaunchShape launch_shape(const DeviceArgs& args) const;
  std::size_t sequence_count() const { return sequences_.size(); }
  const OpSequence& sequence_at(std::size_t i) const { return sequences_[i]; }
  std::size_t device_args_count() const { return device_args_.size(); }  // one for each device activity
  const DeviceArgs& device_args_at(std::size_t i) const { return device_args_[i]; }

  Names names;
  std::vector<Row> rows;

 private:
  // What is looked for in names, once for each.
  struct Words {
    bool has_graph_launch = false, has_synchronize = false, has_data_loader = false, has_convolution = false;
  };
  const Words& words_of(EventId e) const { return words_[names_of_[e]]; }
  void keep(const TraceEvent& event);
  void keep_memory(const TraceEvent& event);
  void label_row(const TraceEvent& event);
  RowId row_of(const RowName& process, const RowName& thread);
  RowId find_row(const RowName& process, const RowName& thread);

  Blocks<std::int64_t> begins_;
  NumberBlocks durations_, correlations_, external_ids_;
  Blocks<NameId> names_of_;
  Blocks<RowId> rows_of_;
  Blocks<Category> categories_;
  SparseColumn<DeviceArgs> device_args_;
  SparseColumn<OpShapes> shapes_;
  SparseColumn<OpSequence> sequences_;
  SparseColumn<CallStack> call_stacks_;
  SparseColumn<WaitReason> wait_reasons_;
  SparseColumn<CollectiveArgs> collectives_;
  SparseColumn<ConcreteInputs> concrete_inputs_;
  SparseColumn<CountedWork> counted_work_;
  MemoryEvents memory_;
  Names launch_shapes_;       // their bytes
  std::vector<Words> words_;  // by NameId, up to the last one of a span
  std::unordered_map<std::string, RowId> row_ids_;
  static constexpr RowId kNoRow = std::numeric_limits<RowId>::max();
  struct KnownRow {
    std::int64_t process = 0, thread = 0;
    RowId row = kNoRow;
  };
  std::array<KnownRow, 16> known_rows_{};  // found last
};

}  // namespace pel::doctor

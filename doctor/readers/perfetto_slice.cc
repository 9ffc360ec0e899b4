#include "doctor/readers/perfetto_slice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "doctor/readers/named_range.h"
#include "doctor/readers/rocprof_names.h"

namespace pel::doctor {
namespace {

// Rows of tracks that are not threads have numbers beyond those of threads.
constexpr std::int64_t kFirstOrdinal = std::int64_t{1} << 32;

// What annotations are called, by Kineto and by rocprofv3.
constexpr std::pair<std::string_view, Arg> kAnnotations[] = {
    {"correlation", Arg::Correlation},
    {"correlation_id", Arg::Correlation},
    {"corr_id", Arg::Correlation},
    {"External id", Arg::ExternalId},
    {"device", Arg::Device},
    {"agent", Arg::Device},
    {"stream", Arg::Stream},
    {"stream_id", Arg::Stream},
    {"bytes", Arg::Bytes},
    {"copy_bytes", Arg::Bytes},
    {"Sequence number", Arg::Sequence},
    {"Fwd thread id", Arg::ForwardThread},
    {"registers per thread", Arg::RegistersPerThread},
    {"shared memory", Arg::SharedMemory},
    {"group_segment_size", Arg::SharedMemory},
    {"graph id", Arg::GraphId},
    {"graph node id", Arg::GraphNodeId},
};

// Categories of rocprofv3; those of Kineto are the same as in JSON.
constexpr std::pair<std::string_view, Category> kRocprofCategories[] = {
    {"kernel_dispatch", Category::Kernel}, {"memory_copy", Category::Memcpy},
    {"hip_api", Category::Runtime},        {"hsa_api", Category::Driver},
    {"rccl_api", Category::CpuOp},         {"marker_api", Category::UserAnnotation},
};

void set_device(const PerfettoSlice& slice, const PerfettoTrack& track, TraceEvent& event) {
  if (!event.has(Arg::Stream)) event.set(Arg::Stream, track.ordinal);
  if (!event.has(Arg::Device)) event.set(Arg::Device, 0);
  event.has_grid = slice.has_grid;
  event.has_block = slice.has_block;
  event.grid = slice.grid;
  event.block = slice.block;
  if (event.has_block || slice.block_items <= 0 || slice.grid_items <= 0) return;
  event.has_grid = event.has_block = true;
  event.block = {slice.block_items, 1, 1};
  event.grid = {work_groups(slice.grid_items, slice.block_items), 1, 1};
}

}  // namespace

void PerfettoSlice::set(Arg arg, std::int64_t value) {
  args[static_cast<std::size_t>(arg)] = value;
  args_there |= std::uint64_t{1} << static_cast<unsigned>(arg);
}

void PerfettoSlice::annotate(std::string_view annotation, std::int64_t value) {
  if (annotation == "grid_size") grid_items = value;
  if (annotation == "workgroup_size") block_items = value;
  for (const auto& [known, arg] : kAnnotations)
    if (annotation == known) set(arg, value);
}

void PerfettoSlice::annotate(std::string_view annotation, const std::array<std::int64_t, 3>& values) {
  if (annotation == "grid") grid = values, has_grid = true;
  if (annotation == "block") block = values, has_block = true;
}

void PerfettoSlice::add_end(const PerfettoSlice& end) {
  for (std::size_t i = 0; i < kArgCount; ++i)
    if ((end.args_there >> i & 1) != 0) set(static_cast<Arg>(i), end.args[i]);
  if (!flow) flow = end.flow;
}

void SliceReader::finish(const PerfettoSlice& slice, const PerfettoTrack& track, std::int64_t process,
                         std::int64_t end_ns) {
  TraceEvent event;
  event.phase = Phase::Span;
  event.has_time = true;
  event.begin_ns = slice.begin_ns;
  if (end_ns > slice.begin_ns && __builtin_sub_overflow(end_ns, slice.begin_ns, &event.duration_ns))
    event.duration_ns = INT64_MAX;
  event.category_text = slice.category;
  event.name = slice.name;
  event.process.number = process;
  event.thread.number = track.thread.value_or(kFirstOrdinal + track.ordinal);
  for (std::size_t i = 0; i < kArgCount; ++i)
    if ((slice.args_there >> i & 1) != 0) event.set(static_cast<Arg>(i), slice.args[i]);
  if (slice.flow && !event.has(Arg::Correlation)) event.set(Arg::Correlation, *slice.flow);
  set_category(slice, event);
  if (event.category == Category::Kernel || event.category == Category::Memcpy ||
      event.category == Category::Memset)
    set_device(slice, track, event);
  counts_.note(event);
  visit_(event);
}

void SliceReader::set_category(const PerfettoSlice& slice, TraceEvent& event) {
  const auto known = std::ranges::find(kRocprofCategories, std::string_view(slice.category),
                                       &std::pair<std::string_view, Category>::first);
  event.category = known != std::end(kRocprofCategories) ? known->second : category_of(slice.category);
  const bool is_range =
      slice.category == "marker_api" || event.category == Category::Other || event.category == Category::None;
  if (is_range) {  // its correlation is of no call
    event.args_there &= ~(std::uint64_t{1} << static_cast<unsigned>(Arg::Correlation));
    read_named_range(slice.name, event, scratch_);
  } else if (event.category == Category::Memcpy) {
    scratch_ = usual_copy_name(slice.name);
    event.name = scratch_;
  }
}

}  // namespace pel::doctor

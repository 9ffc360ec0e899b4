#include "doctor/model/event_table.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace pel::doctor {
namespace {

std::string row_key(const RowName& process, const RowName& thread) {
  return fmt::format("{} {} {} {} {}", process.number, thread.number, process.text.size(), process.text,
                     thread.text);
}

// Numbers of a trace may be anything; those that are counted or compared fit.
template <class T>
T clamped(std::int64_t number) {
  return static_cast<T>(
      std::clamp<std::int64_t>(number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// From 36 years before 1970 to the year 2043; a span takes at most 18 years: so differences of times fit, see
// saturating.h.
constexpr std::int64_t kEarliestNs = -(std::int64_t{1} << 60), kLatestNs = std::int64_t{1} << 61;

// -1: the profiler counted none.
std::int64_t counted_bytes(const TraceEvent& event) {
  if (!event.has(Arg::BytesRead) && !event.has(Arg::BytesWritten)) return -1;
  return saturating_add(std::max<std::int64_t>(0, event.get(Arg::BytesRead)),
                        std::max<std::int64_t>(0, event.get(Arg::BytesWritten)));
}

bool is_kept(Category category) {
  switch (category) {
    case Category::None:
    case Category::DeviceEvent:
    case Category::CpuInstant:
    case Category::Piece:
    case Category::LaunchFlow:
    case Category::BackwardFlow:
    case Category::Counters:
    case Category::Other:
      return false;
    default:
      return true;
  }
}

}  // namespace

void EventTable::take(const TraceEvent& event) {
  if (event.phase == Phase::Metadata) {
    label_row(event);
  } else if (event.phase == Phase::Span && is_kept(event.category) && size() < kNoEvent) {
    keep(event);
  } else if (event.phase == Phase::Instant && event.name == "[memory]" && event.has(Arg::Bytes)) {
    keep_memory(event);
  }
}

void EventTable::keep(const TraceEvent& event) {
  const auto e = static_cast<EventId>(size());
  constexpr std::int64_t kLongest = std::int64_t{1} << 59;
  begins_.push_back(std::clamp(event.begin_ns, kEarliestNs, kLatestNs));
  durations_.push_back(std::clamp<std::int64_t>(event.duration_ns, 0, kLongest));
  const NameId name = names.add(event.name);
  names_of_.push_back(name);
  for (auto id = static_cast<NameId>(words_.size()); id <= name; ++id)
    words_.push_back({contains(names[id], "GraphLaunch"), contains(names[id], "Synchronize"),
                      contains(names[id], "DataLoader"), contains(names[id], "convolution")});
  rows_of_.push_back(row_of(event.process, event.thread));
  categories_.push_back(event.category);
  correlations_.push_back(event.get(Arg::Correlation, kNoNumber));
  external_ids_.push_back(event.get(Arg::ExternalId, kNoNumber));

  if (is_device_activity(e)) {
    LaunchShape shape;
    for (std::size_t i = 0; i < 3; ++i) {
      if (event.has_grid) shape.grid[i] = clamped<std::int32_t>(event.grid[i]);
      if (event.has_block) shape.block[i] = clamped<std::int32_t>(event.block[i]);
    }
    shape.registers = clamped<std::int32_t>(event.get(Arg::RegistersPerThread, -1));
    shape.shared_bytes = clamped<std::int32_t>(event.get(Arg::SharedMemory, -1));
    shape.occupancy_percent = static_cast<float>(event.get(ArgDecimal::OccupancyPercent, -1));
    shape.blocks_per_multiprocessor = static_cast<float>(event.get(ArgDecimal::BlocksPerMultiprocessor, -1));
    const std::string_view bytes(reinterpret_cast<const char*>(&shape), sizeof shape);
    device_args_.push_back({.event = e,
                            .device = clamped<std::int32_t>(event.get(Arg::Device, event.process.number)),
                            .stream = clamped<std::int32_t>(event.get(Arg::Stream, event.thread.number)),
                            .shape = launch_shapes_.add(bytes),
                            .bytes = event.get(Arg::Bytes, -1)});
  }
  if (event.has(ArgText::InputShapes))
    shapes_.push_back({e, names.add(event.get(ArgText::InputShapes)),
                       names.add(event.get(ArgText::InputTypes)),
                       names.add(event.get(ArgText::InputStrides))});
  if (event.has(ArgText::ConcreteInputs) && words_[name].has_convolution)
    concrete_inputs_.push_back({e, names.add(event.get(ArgText::ConcreteInputs))});
  if (event.has(Arg::Flops))
    counted_work_.push_back({.event = e,
                             .flops = std::max<std::int64_t>(0, event.get(Arg::Flops)),
                             .bytes = counted_bytes(event)});
  if (event.has(Arg::Sequence))
    sequences_.push_back({e, clamped<std::uint32_t>(event.get(Arg::Sequence)),
                          clamped<std::uint32_t>(event.get(Arg::ForwardThread, 0))});
  const std::string_view stack = event.call_site.empty() ? event.get(ArgText::CallStack) : event.call_site;
  if (!stack.empty()) call_stacks_.push_back({e, names.add(stack)});
  if (event.has(ArgText::Reason))
    wait_reasons_.push_back({e, names.add(event.get(ArgText::Reason)), event.get(Arg::Queued, kNoNumber)});
  if (event.has(ArgText::CollectiveName))
    collectives_.push_back({.event = e,
                            .name = names.add(event.get(ArgText::CollectiveName)),
                            .group = names.add(event.get(ArgText::ProcessGroupName)),
                            .dtype = names.add(event.get(ArgText::ElementType)),
                            .elements = event.get(Arg::InputElements, kNoNumber),
                            .sequence = event.get(Arg::CollectiveSequence, kNoNumber),
                            .ranks = event.get(Arg::GroupSize, kNoNumber),
                            .source = event.get(Arg::SourceRank, kNoNumber),
                            .destination = event.get(Arg::DestinationRank, kNoNumber)});
}

void EventTable::keep_memory(const TraceEvent& event) {
  memory_.push_back({.time_ns = std::clamp(event.begin_ns, kEarliestNs, kLatestNs),
                     .address = event.get(Arg::Address, kNoNumber),
                     .bytes = saturating_add(event.get(Arg::Bytes), 0),
                     .allocated = event.get(Arg::TotalAllocated, kNoNumber),
                     .reserved = event.get(Arg::TotalReserved, kNoNumber),
                     .row = row_of(event.process, event.thread),
                     .device_type = clamped<std::int32_t>(event.get(Arg::DeviceType, 0)),
                     .device = clamped<std::int32_t>(event.get(Arg::DeviceId, -1))});
}

LaunchShape EventTable::launch_shape(const DeviceArgs& args) const {
  LaunchShape shape;
  std::memcpy(&shape, launch_shapes_[args.shape].data(), sizeof shape);
  return shape;
}

RowId EventTable::row_of(const RowName& process, const RowName& thread) {
  if (!process.text.empty() || !thread.text.empty()) return find_row(process, thread);
  // Events of a few rows take turns.
  const auto slot =
      static_cast<std::uint64_t>(thread.number) + 3 * static_cast<std::uint64_t>(process.number);
  KnownRow& known = known_rows_[slot % known_rows_.size()];
  if (known.row == kNoRow || known.process != process.number || known.thread != thread.number)
    known = {process.number, thread.number, find_row(process, thread)};
  return known.row;
}

RowId EventTable::find_row(const RowName& process, const RowName& thread) {
  const auto [at, is_new] = row_ids_.try_emplace(row_key(process, thread), static_cast<RowId>(rows.size()));
  if (is_new) {
    rows.push_back({.process = process.number,
                    .thread = thread.number,
                    .process_text = std::string(process.text),
                    .thread_text = std::string(thread.text),
                    .process_name = {},
                    .thread_name = {}});
  }
  return at->second;
}

void EventTable::label_row(const TraceEvent& event) {
  if (event.name == "thread_name") {
    rows[row_of(event.process, event.thread)].thread_name = event.label;
  } else if (event.name == "process_name") {
    rows[row_of(event.process, event.thread)].process_name = event.label;
  }
}

}  // namespace pel::doctor

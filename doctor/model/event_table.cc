#include "doctor/model/event_table.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace pel::doctor {
namespace {

bool same_row_name(const RowName& a, const RowName& b) {
  return a.number == b.number && a.text.empty() && b.text.empty();
}

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

bool is_kept(Category category) {
  switch (category) {
    case Category::None:
    case Category::DeviceEvent:
    case Category::CpuInstant:
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
  }
}

void EventTable::keep(const TraceEvent& event) {
  const auto e = static_cast<EventId>(size());
  // From 36 years before 1970 to the year 2043, and for 18 years: so differences of times fit, see
  // saturating.h.
  constexpr std::int64_t kEarliest = -(std::int64_t{1} << 60), kLatest = std::int64_t{1} << 61;
  constexpr std::int64_t kLongest = std::int64_t{1} << 59;
  begins_.push_back(std::clamp(event.begin_ns, kEarliest, kLatest));
  durations_.push_back(std::clamp<std::int64_t>(event.duration_ns, 0, kLongest));
  const NameId name = names.add(event.name);
  names_of_.push_back(name);
  for (auto id = static_cast<NameId>(words_.size()); id <= name; ++id)
    words_.push_back({contains(names[id], "GraphLaunch"), contains(names[id], "Synchronize"),
                      contains(names[id], "DataLoader")});
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
  if (event.has(Arg::Sequence))
    sequences_.push_back({e, clamped<std::uint32_t>(event.get(Arg::Sequence)),
                          clamped<std::uint32_t>(event.get(Arg::ForwardThread, 0))});
  const std::string_view stack = event.call_site.empty() ? event.get(ArgText::CallStack) : event.call_site;
  if (!stack.empty()) call_stacks_.push_back({e, names.add(stack)});
  if (event.has(ArgText::CollectiveName))
    collectives_.push_back({.event = e,
                            .name = names.add(event.get(ArgText::CollectiveName)),
                            .group = names.add(event.get(ArgText::ProcessGroupName)),
                            .dtype = names.add(event.get(ArgText::ElementType)),
                            .elements = event.get(Arg::InputElements, kNoNumber),
                            .sequence = event.get(Arg::CollectiveSequence, kNoNumber),
                            .ranks = event.get(Arg::GroupSize, kNoNumber)});
}

LaunchShape EventTable::launch_shape(const DeviceArgs& args) const {
  LaunchShape shape;
  std::memcpy(&shape, launch_shapes_[args.shape].data(), sizeof shape);
  return shape;
}

RowId EventTable::row_of(const RowName& process, const RowName& thread) {
  if (last_row_ < rows.size() && same_row_name(process, last_process_) && same_row_name(thread, last_thread_))
    return last_row_;
  const auto [at, is_new] = row_ids_.try_emplace(row_key(process, thread), static_cast<RowId>(rows.size()));
  if (is_new) {
    rows.push_back({.process = process.number,
                    .thread = thread.number,
                    .process_text = std::string(process.text),
                    .thread_text = std::string(thread.text),
                    .process_name = {},
                    .thread_name = {}});
  }
  if (process.text.empty() && thread.text.empty()) {  // texts live during the visit only
    last_process_ = process;
    last_thread_ = thread;
    last_row_ = at->second;
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

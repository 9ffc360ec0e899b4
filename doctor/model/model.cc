#include "doctor/model/model.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <simdjson.h>

#include "base/sort_stably.h"
#include "doctor/model/run_in_parallel.h"

namespace pel::doctor {
namespace {

// A hostile file may nest deeper; deeper levels are ignored.
constexpr int kMaxLevels = 1000;
constexpr std::size_t kMaxInChain = 64;

// Of two spans with equal times, which is around the other.
int rank_of(Category category) {
  switch (category) {
    case Category::PythonFunction:
      return 0;
    case Category::UserAnnotation:
      return 1;
    case Category::CpuOp:
      return 2;
    default:
      return 3;
  }
}

bool marks_step(const EventTable& events, EventId e) {
  const Category category = events.category(e);
  return (category == Category::UserAnnotation || category == Category::CpuOp) &&
         events.name(e).starts_with("ProfilerStep");
}

}  // namespace

Model::Model(EventTable table, TraceSummary summary)
    : events_(std::move(table)), summary_(std::move(summary)) {
  const std::size_t max_at_once = events_.size() < kFewSpans ? 1 : 0;
  run_in_parallel(2, max_at_once, [this](std::size_t part) {
    if (part == 1) return link_activities();
    order_rows();
    nest();
  });
  find_steps();
  link_ops();
  link_backward();
  read_properties();
}

void Model::order_rows() {
  row_begins_.assign(events_.rows.size() + 1, 0);
  for (EventId e = 0; e < events_.size(); ++e) {
    if (events_.is_on_host(e)) ++row_begins_[events_.row(e) + 1];
  }
  for (RowId row = 0; row < events_.rows.size(); ++row) {
    if (row_begins_[row + 1] != 0) host_rows_.push_back(row);
  }
  std::partial_sum(row_begins_.begin(), row_begins_.end(), row_begins_.begin());
  ordered_.resize(row_begins_.back());
  std::vector<std::size_t> next(row_begins_.begin(), row_begins_.end() - 1);
  for (EventId e = 0; e < events_.size(); ++e) {
    if (events_.is_on_host(e)) ordered_[next[events_.row(e)]++] = e;
  }
  const auto before = [&](EventId a, EventId b) {
    if (events_.begin_ns(a) != events_.begin_ns(b)) return events_.begin_ns(a) < events_.begin_ns(b);
    if (events_.duration_ns(a) != events_.duration_ns(b))
      return events_.duration_ns(a) > events_.duration_ns(b);
    const int rank_a = rank_of(events_.category(a)), rank_b = rank_of(events_.category(b));
    return rank_a != rank_b ? rank_a < rank_b : a < b;
  };
  for (const RowId row : host_rows_) {
    const auto begin = ordered_.begin() + static_cast<std::ptrdiff_t>(row_begins_[row]);
    const auto end = ordered_.begin() + static_cast<std::ptrdiff_t>(row_begins_[row + 1]);
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }
}

void Model::nest() {
  parents_.assign(events_.size(), kNoEvent);
  std::vector<EventId> around;
  for (const RowId row : host_rows_) {
    around.clear();
    for (const EventId e : of_row(row)) {
      while (!around.empty() && events_.end_ns(around.back()) <= events_.begin_ns(e)) around.pop_back();
      if (!around.empty()) parents_[e] = around.back();
      around.push_back(e);
    }
  }
}

void Model::link_activities() {
  std::vector<std::pair<std::int64_t, EventId>> calls;
  for (EventId e = 0; e < events_.size(); ++e) {
    if (events_.is_call(e) && events_.correlation(e) != kNoNumber)
      calls.emplace_back(events_.correlation(e), e);
  }
  if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
  activities_.reserve(events_.device_args_count());
  for (std::size_t i = 0; i < events_.device_args_count(); ++i) {
    const DeviceArgs& args = events_.device_args_at(i);
    const EventId e = args.event;
    Activity activity{.event = e,
                      .begin_ns = events_.begin_ns(e),
                      .end_ns = events_.end_ns(e),
                      .device = args.device,
                      .stream = args.stream};
    const std::int64_t correlation = events_.correlation(e);
    if (correlation != kNoNumber) {  // of several calls with one number, the last
      const auto at = std::upper_bound(calls.begin(), calls.end(), std::pair(correlation, kNoEvent));
      if (at != calls.begin() && std::prev(at)->first == correlation) activity.launch = std::prev(at)->second;
    }
    if (activity.launch == kNoEvent) {
      ++activities_without_launch_;
    } else if (activity.begin_ns >= events_.begin_ns(activity.launch) &&
               activity.end_ns <= events_.end_ns(activity.launch)) {
      ++activities_inside_launch_;
    }
    activities_.push_back(activity);
  }
  std::sort(activities_.begin(), activities_.end(), [](const Activity& a, const Activity& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.event < b.event;
  });
  device_activities_.resize(activities_.size());
  std::iota(device_activities_.begin(), device_activities_.end(), 0);
  sort_stably(device_activities_, [&](std::uint32_t a, std::uint32_t b) {
    return activities_[a].device < activities_[b].device;
  });
  for (std::size_t i = 0; i < device_activities_.size(); ++i) {
    const std::int32_t device = activities_[device_activities_[i]].device;
    if (!active_devices_.empty() && active_devices_.back() == device) continue;
    active_devices_.push_back(device);
    device_begins_.push_back(i);
  }
  device_begins_.push_back(device_activities_.size());

  launched_activities_.resize(activities_.size());
  std::iota(launched_activities_.begin(), launched_activities_.end(), 0);
  std::erase_if(launched_activities_, [&](std::uint32_t w) { return activities_[w].launch == kNoEvent; });
  std::sort(launched_activities_.begin(), launched_activities_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return activities_[a].launch != activities_[b].launch ? activities_[a].launch < activities_[b].launch
                                                          : a < b;
  });
  launches_.reserve(launched_activities_.size());
  for (const std::uint32_t w : launched_activities_) {
    launch_index_.add(activities_[w].launch, launches_.size());
    launches_.push_back(activities_[w].launch);
  }
}

void Model::find_steps() {
  for (const EventId e : ordered_) {
    if (marks_step(events_, e))
      steps_.push_back({std::string(events_.name(e)), events_.begin_ns(e), events_.end_ns(e)});
  }
  const auto key = [](const Step& step) {
    return std::tuple(step.begin_ns, step.end_ns, std::string_view(step.name));
  };
  std::sort(steps_.begin(), steps_.end(), [&](const Step& a, const Step& b) { return key(a) < key(b); });
  steps_.erase(std::unique(steps_.begin(), steps_.end(),
                           [&](const Step& a, const Step& b) { return key(a) == key(b); }),
               steps_.end());
  has_marked_steps_ = !steps_.empty();
  if (!has_marked_steps_) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(),
                 end = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : ordered_) {
      begin = std::min(begin, events_.begin_ns(e));
      end = std::max(end, events_.end_ns(e));
    }
    for (const Activity& activity : activities_) {
      begin = std::min(begin, activity.begin_ns);
      end = std::max(end, activity.end_ns);
    }
    if (begin > end) return;  // nothing is in it
    steps_.push_back({"the whole trace", begin, end});
  }
  for (const Step& step : steps_)
    step_ends_.push_back(step_ends_.empty() ? step.end_ns : std::max(step_ends_.back(), step.end_ns));
  if (!has_marked_steps_) return;
  for (Activity& activity : activities_)
    activity.step = activity.launch == kNoEvent ? kNoStep : step_at(events_.begin_ns(activity.launch));
}

bool Model::is_step_mark(EventId e) const { return marks_step(events_, e); }

std::uint32_t Model::step_at(std::int64_t time_ns) const {
  // Marks may overlap by what rounding left; the first one counts.
  auto step = static_cast<std::size_t>(std::upper_bound(step_ends_.begin(), step_ends_.end(), time_ns) -
                                       step_ends_.begin());
  for (; step < steps_.size() && steps_[step].begin_ns <= time_ns; ++step) {
    if (time_ns < steps_[step].end_ns) return static_cast<std::uint32_t>(step);
  }
  return kNoStep;
}

void Model::link_ops() {
  std::size_t as_ops = 0, as_correlations = 0;
  for (const Activity& activity : activities_) {
    const EventId launch = activity.launch;
    if (launch == kNoEvent || events_.external_id(launch) == kNoNumber) continue;
    const EventId op = op_of(launch);
    if (op != kNoEvent && events_.external_id(op) == events_.external_id(launch)) {
      ++as_ops;
    } else if (events_.external_id(launch) == events_.correlation(launch)) {
      ++as_correlations;
    }
  }
  if (as_ops + as_correlations != 0)
    external_ids_ = as_ops >= as_correlations ? ExternalIds::Ops : ExternalIds::Correlations;
  if (external_ids_ == ExternalIds::Correlations) return;
  constexpr EventId kWanted = kNoEvent;
  for (const Activity& activity : activities_) {
    if (activity.launch != kNoEvent && op_of(activity.launch) != kNoEvent) continue;
    const std::int64_t id =
        events_.external_id(activity.launch == kNoEvent ? activity.event : activity.launch);
    if (id != kNoNumber && id != 0) ops_by_external_id_.try_emplace(id, kWanted);
  }
  if (ops_by_external_id_.empty()) return;
  for (const EventId e : ordered_) {
    if (events_.category(e) != Category::CpuOp) continue;
    const auto at = ops_by_external_id_.find(events_.external_id(e));
    if (at != ops_by_external_id_.end()) at->second = e;
  }
}

void Model::link_backward() {
  std::unordered_map<std::uint32_t, EventId> forward;  // by sequence, the first
  for (std::size_t i = 0; i < events_.sequence_count(); ++i) {
    const OpSequence& op = events_.sequence_at(i);
    if (op.forward_thread != 0) continue;
    const auto [at, is_new] = forward.try_emplace(op.sequence, op.event);
    if (!is_new && events_.begin_ns(op.event) < events_.begin_ns(at->second)) at->second = op.event;
  }
  for (std::size_t i = 0; i < events_.sequence_count(); ++i) {
    const OpSequence& op = events_.sequence_at(i);
    if (op.forward_thread == 0) continue;
    const auto at = forward.find(op.sequence);
    if (at != forward.end()) forward_.emplace_back(op.event, at->second);
  }
}

void Model::read_properties() {
  const std::string* json = summary_.find("deviceProperties");
  if (json == nullptr) return;
  simdjson::dom::parser parser;
  simdjson::dom::array all;
  if (parser.parse(*json).get(all) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element device : all) {
    DeviceProperties properties;
    std::string_view name;
    if (device["id"].get(properties.id) != simdjson::SUCCESS) continue;
    if (device["name"].get(name) == simdjson::SUCCESS) properties.name = name;
    if (device["numSms"].get(properties.multiprocessors) != simdjson::SUCCESS) properties.multiprocessors = 0;
    devices_.push_back(std::move(properties));
  }
}

const DeviceProperties* Model::device(std::int64_t id) const {
  for (const DeviceProperties& device : devices_) {
    if (device.id == id) return &device;
  }
  // ROCm counts processors of the host, too: what is not listed is one of those that are, if they are alike.
  const bool are_alike = std::all_of(devices_.begin(), devices_.end(), [&](const DeviceProperties& device) {
    return device.name == devices_.front().name;
  });
  return devices_.empty() || !are_alike ? nullptr : &devices_.front();
}

std::span<const EventId> Model::of_row(RowId row) const {
  return std::span(ordered_).subspan(row_begins_[row], row_begins_[row + 1] - row_begins_[row]);
}

EventId Model::op_of(EventId e) const {
  for (int level = 0; e != kNoEvent && level < kMaxLevels; ++level, e = parents_[e]) {
    if (events_.category(e) == Category::CpuOp) return e;
  }
  return kNoEvent;
}

EventId Model::outermost_op_of(EventId e) const {
  EventId outermost = kNoEvent;
  for (int level = 0; e != kNoEvent && level < kMaxLevels; ++level, e = parents_[e]) {
    if (events_.category(e) == Category::CpuOp && !marks_step(events_, e)) outermost = e;
  }
  return outermost;
}

EventId Model::op_of_launch(EventId launch) const {
  if (launch == kNoEvent) return kNoEvent;
  const EventId nested = op_of(launch);
  if (nested != kNoEvent) return nested;
  const auto at = ops_by_external_id_.find(events_.external_id(launch));
  return at == ops_by_external_id_.end() ? kNoEvent : at->second;
}

EventId Model::op_of_activity(const Activity& activity) const {
  if (activity.launch != kNoEvent) return op_of_launch(activity.launch);
  const auto at = ops_by_external_id_.find(events_.external_id(activity.event));
  return at == ops_by_external_id_.end() ? kNoEvent : at->second;
}

EventId Model::forward_of(EventId op) const {
  for (int level = 0; op != kNoEvent && level < kMaxLevels; ++level, op = parents_[op]) {
    const auto at = std::lower_bound(forward_.begin(), forward_.end(), std::pair(op, EventId{0}));
    if (at != forward_.end() && at->first == op) return at->second;
  }
  return kNoEvent;
}

std::string Model::op_chain(EventId launch) const {
  std::vector<std::string_view> names;
  EventId e = op_of_launch(launch);
  for (int level = 0; e != kNoEvent && level < kMaxLevels && names.size() < kMaxInChain;
       ++level, e = parents_[e]) {
    if (events_.category(e) == Category::CpuOp && !marks_step(events_, e)) names.push_back(events_.name(e));
  }
  std::string chain;
  for (std::size_t i = names.size(); i-- > 0;) {
    chain += names[i];
    if (i != 0) chain += " > ";
  }
  return chain;
}

std::vector<std::string> Model::stack_of(EventId e, std::size_t most) const {
  std::vector<std::string> frames;
  for (int level = 0; e != kNoEvent && level < kMaxLevels && frames.size() < most; ++level, e = parents_[e]) {
    if (events_.category(e) == Category::PythonFunction) {
      frames.emplace_back(events_.name(e));
    } else if (const CallStack* stack = events_.call_stack(e); stack != nullptr && frames.empty()) {
      std::string_view rest = events_.names[stack->text];
      while (!rest.empty() && frames.size() < most) {  // "a.py(1): f;b.py(2): g"
        const std::size_t end = std::min(rest.find(';'), rest.size());
        if (end != 0) frames.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      return frames;
    }
  }
  return frames;
}

EventId Model::running_at(RowId row, std::int64_t time_ns) const {
  const std::span<const EventId> all = of_row(row);
  const auto past = std::upper_bound(all.begin(), all.end(), time_ns, [&](std::int64_t time, EventId e) {
    return time < events_.begin_ns(e);
  });
  if (past == all.begin()) return kNoEvent;
  EventId e = *std::prev(past);
  for (int level = 0; e != kNoEvent && level < kMaxLevels; ++level, e = parents_[e]) {
    if (events_.end_ns(e) > time_ns) return e;
  }
  return kNoEvent;
}

std::span<const std::uint32_t> Model::launched_by(EventId launch) const {
  const EventIndex::Range range = launch_index_.find(launch, launches_.size());
  const auto near = std::span(launches_).subspan(range.begin, range.end - range.begin);
  const auto [begin, end] = std::equal_range(near.begin(), near.end(), launch);
  return std::span(launched_activities_)
      .subspan(range.begin + static_cast<std::size_t>(begin - near.begin()),
               static_cast<std::size_t>(end - begin));
}

}  // namespace pel::doctor

// Spans, launches and idle gaps for the page's timeline, in columns; of long traces the longest.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

constexpr std::uint32_t kNoSpan = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMinSpans = 1'000;    // below, nothing more is left out
constexpr std::int64_t kLongShare = 1'000;  // of the trace: such spans are left out last

// What is left out of a long trace, the first of these first.
enum class Tier : std::uint8_t { Python, Quiet, Host, Activity, Long };
constexpr std::size_t kTierCount = 5;
constexpr std::array<std::string_view, kTierCount> kTierNames{
    "Python functions", "host spans that launch nothing", "other host spans", "device activities",
    "long spans"};

struct LeftOut {
  std::size_t count = 0;
  std::int64_t longest_ns = 0;
};

class TimelineWriter {
 public:
  explicit TimelineWriter(const Examined& examined)
      : model_(examined.model), kernels_(examined.kernels), time_(examined.time), events_(model_.events()) {
    order_rows();
    sort_into_tiers();
  }
  std::size_t candidates() const { return all_; }
  std::string write(std::size_t max_spans);

 private:
  struct Lane {
    std::string name;
    bool is_device = false;
    std::int32_t device = 0;
    std::vector<EventId> spans;
  };

  void order_rows() {
    std::vector<RowId> rows(time_.launching_rows().begin(), time_.launching_rows().end());
    for (const RowId row : model_.host_rows()) {
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    }
    const auto launching = static_cast<std::ptrdiff_t>(time_.launching_rows().size());
    const auto longer = [&](RowId a, RowId b) {
      const std::size_t in_a = model_.of_row(a).size(), in_b = model_.of_row(b).size();
      return in_a != in_b ? in_a > in_b : a < b;
    };
    std::sort(rows.begin(), rows.begin() + launching, longer);
    std::sort(rows.begin() + launching, rows.end(), longer);
    for (const RowId id : rows) {
      const Row& row = events_.rows[id];
      const std::span<const EventId> spans = model_.of_row(id);
      if (spans.empty()) continue;
      std::string thread = !row.thread_name.empty()   ? row.thread_name
                           : !row.thread_text.empty() ? row.thread_text
                                                      : fmt::format("thread {}", row.thread);
      lanes_.push_back({.name = std::move(thread), .spans = {spans.begin(), spans.end()}});
    }
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<EventId>> streams;
    for (const Activity& activity : model_.activities())
      streams[{activity.device, activity.stream}].push_back(activity.event);
    for (auto& [stream, activities] : streams) {
      lanes_.push_back({.name = fmt::format("stream {}", stream.second),
                        .is_device = true,
                        .device = stream.first,
                        .spans = std::move(activities)});
    }
  }

  void sort_into_tiers() {
    begin_ns_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (const Lane& lane : lanes_) {
      all_ += lane.spans.size();
      for (const EventId e : lane.spans) {
        begin_ns_ = std::min(begin_ns_, events_.begin_ns(e));
        end_ns = std::max(end_ns, events_.end_ns(e));
      }
    }
    if (all_ == 0) begin_ns_ = end_ns = 0;
    length_ns_ = end_ns - begin_ns_;
    for (const Lane& lane : lanes_) {
      for (const EventId e : lane.spans) tiers_[static_cast<std::size_t>(tier_of(lane, e))].push_back(e);
    }
    for (auto& tier : tiers_) {
      std::sort(tier.begin(), tier.end(), [&](EventId a, EventId b) {
        const std::int64_t of_a = events_.duration_ns(a), of_b = events_.duration_ns(b);
        return of_a != of_b ? of_a < of_b : a < b;
      });
    }
  }
  Tier tier_of(const Lane& lane, EventId e) const {
    if (events_.duration_ns(e) >= length_ns_ / kLongShare) return Tier::Long;
    if (lane.is_device) return Tier::Activity;
    if (events_.category(e) == Category::PythonFunction) return Tier::Python;
    return model_.launched_by(e).empty() && !time_.is_wait(e) ? Tier::Quiet : Tier::Host;
  }

  void select(std::size_t max_spans) {
    keeps_.assign(events_.size(), 1);
    left_out_ = {};
    std::size_t surplus = all_ > max_spans ? all_ - max_spans : 0;
    for (std::size_t t = 0; t < kTierCount && surplus != 0; ++t) {
      const std::size_t count = std::min(surplus, tiers_[t].size());
      for (std::size_t i = 0; i < count; ++i) keeps_[tiers_[t][i]] = 0;
      if (count != 0) left_out_[t] = {count, events_.duration_ns(tiers_[t][count - 1])};
      surplus -= count;
    }
    span_of_.assign(events_.size(), kNoSpan);
    std::uint32_t next = 0;
    for (const Lane& lane : lanes_) {
      for (const EventId e : lane.spans) {
        if (keeps_[e] != 0) span_of_[e] = next++;
      }
    }
  }
  // The span of an event, or of the nearest around it that is there; -1: of none.
  std::int64_t shown(EventId e) const {
    while (e != kNoEvent && span_of_[e] == kNoSpan) e = model_.parent(e);
    return e == kNoEvent ? -1 : std::int64_t{span_of_[e]};
  }
  std::int64_t kind_of(EventId e);
  void write_kinds(PageJson& json);
  void write_lanes(PageJson& json) const;
  void write_spans(PageJson& json);
  void write_activities(PageJson& json);
  void write_gaps(PageJson& json, std::size_t most);
  void write_steps(PageJson& json) const;
  void write_left_out(PageJson& json) const;

  const Model& model_;
  const KernelCatalog& kernels_;
  const DeviceTime& time_;
  const EventTable& events_;
  std::vector<Lane> lanes_;
  std::array<std::vector<EventId>, kTierCount> tiers_;  // the shortest first
  std::size_t all_ = 0;
  std::int64_t begin_ns_ = 0, length_ns_ = 0;
  std::vector<std::uint8_t> keeps_;
  std::vector<std::uint32_t> span_of_;  // by event
  std::array<LeftOut, kTierCount> left_out_{};
  LeftOut gaps_left_out_;
  PageTexts texts_;
  std::map<std::pair<NameId, Category>, std::int64_t> kind_ids_;
  std::vector<EventId> kinds_;  // an event of each
};

// Events of one name and category share a kind.
std::int64_t TimelineWriter::kind_of(EventId e) {
  const auto [at, is_new] = kind_ids_.try_emplace({events_.name_id(e), events_.category(e)},
                                                  static_cast<std::int64_t>(kinds_.size()));
  if (is_new) kinds_.push_back(e);
  return at->second;
}

void TimelineWriter::write_kinds(PageJson& json) {
  PageColumn names, categories, titles, families;
  for (const EventId e : kinds_) {
    const bool is_kernel = events_.category(e) == Category::Kernel;
    names.add_delta(texts_.add(events_.name(e)));
    categories.add(texts_.add(name(events_.category(e))));
    titles.add(is_kernel ? texts_.add(kernels_.of(e).title) : -1);
    families.add(events_.is_device_activity(e) ? texts_.add(name(kernels_.family(e))) : -1);
  }
  json.key("kinds").begin_object().key("names").text(names.str()).key("categories").text(categories.str());
  json.key("titles").text(titles.str()).key("families").text(families.str()).end_object();
}

void TimelineWriter::write_lanes(PageJson& json) const {
  json.key("lanes").begin_array();
  for (const Lane& lane : lanes_) {
    const auto kept =
        std::count_if(lane.spans.begin(), lane.spans.end(), [&](EventId e) { return keeps_[e] != 0; });
    const DeviceProperties* device = lane.is_device ? model_.device(lane.device) : nullptr;
    json.begin_array().text(lane.name).fact(lane.is_device).number(std::int64_t{lane.device});
    json.text(device == nullptr ? "" : device->name).number(static_cast<std::int64_t>(kept)).end_array();
  }
  json.end_array();
}

void TimelineWriter::write_spans(PageJson& json) {
  PageColumn begins, durations, kinds, parents, stack_spans, stacks, shape_spans, shapes;
  const bool is_whole = left_out_[0].count + left_out_[1].count == 0;
  for (const Lane& lane : lanes_) {
    for (const EventId e : lane.spans) {
      if (keeps_[e] == 0) continue;
      const std::int64_t span = span_of_[e];
      begins.add_delta(events_.begin_ns(e) - begin_ns_);
      durations.add(events_.duration_ns(e));
      kinds.add(kind_of(e));
      if (lane.is_device) continue;
      const std::int64_t parent = shown(model_.parent(e));
      parents.add(parent < 0 ? 0 : span - parent);
      if (const CallStack* stack = events_.call_stack(e); stack != nullptr) {
        stack_spans.add_delta(span);
        stacks.add(texts_.add(events_.names[stack->text]));
      }
      if (const OpShapes* op = events_.shapes(e); op != nullptr && is_whole) {
        shape_spans.add_delta(span);
        shapes.add(texts_.add(events_.names[op->sizes]));
      }
    }
  }
  json.key("begins").text(begins.str()).key("durations").text(durations.str()).key("kind").text(kinds.str());
  json.key("parents").text(parents.str());
  json.key("stacks").begin_array().text(stack_spans.str()).text(stacks.str()).end_array();
  json.key("shapes").begin_array().text(shape_spans.str()).text(shapes.str()).end_array();
}

// Of each activity that is there, in the order of spans: what launched it. And ops that nesting does not
// show.
void TimelineWriter::write_activities(PageJson& json) {
  std::vector<EventId> launch_of(events_.size(), kNoEvent);
  for (const Activity& activity : model_.activities()) launch_of[activity.event] = activity.launch;
  PageColumn launches, calls, ops;
  for (const Lane& lane : lanes_) {
    if (!lane.is_device) continue;
    for (const EventId e : lane.spans) {
      if (keeps_[e] == 0) continue;
      const EventId launch = launch_of[e];
      const std::int64_t call = launch == kNoEvent ? -1 : shown(launch);
      launches.add_delta(call);
      const EventId op = launch == kNoEvent ? kNoEvent : model_.op_of_launch(launch);
      if (op == kNoEvent || model_.op_of(launch) == op || span_of_[op] == kNoSpan) continue;
      calls.add_delta(std::int64_t{span_of_[e]});
      ops.add_delta(std::int64_t{span_of_[op]});
    }
  }
  json.key("launches").text(launches.str());
  json.key("ops").begin_array().text(calls.str()).text(ops.str()).end_array();
}

void TimelineWriter::write_gaps(PageJson& json, std::size_t most) {
  const std::vector<Gap>& gaps = time_.gaps();
  std::int64_t shortest = 0;
  if (gaps.size() > most) {
    std::vector<std::int64_t> lengths;
    for (const Gap& gap : gaps) lengths.push_back(gap.duration_ns());
    std::nth_element(lengths.begin(), lengths.end() - static_cast<std::ptrdiff_t>(most), lengths.end());
    shortest = *(lengths.end() - static_cast<std::ptrdiff_t>(most));
  }
  PageColumn devices, begins, durations, causes, blames, nexts;
  gaps_left_out_ = {};
  for (const Gap& gap : gaps) {
    if (gap.duration_ns() < shortest) {
      ++gaps_left_out_.count;
      gaps_left_out_.longest_ns = std::max(gaps_left_out_.longest_ns, gap.duration_ns());
      continue;
    }
    const Activity& next = model_.activities()[gap.next];
    devices.add_delta(next.device);
    begins.add_delta(gap.begin_ns - begin_ns_);
    durations.add(gap.duration_ns());
    causes.add(static_cast<std::int64_t>(gap.cause));
    blames.add_delta(gap.blame == kNoEvent ? -1 : shown(gap.blame));
    nexts.add_delta(shown(next.event));
  }
  json.key("gaps").begin_object().key("devices").text(devices.str()).key("begins").text(begins.str());
  json.key("durations")
      .text(durations.str())
      .key("causes")
      .text(causes.str())
      .key("blames")
      .text(blames.str());
  json.key("nexts").text(nexts.str()).end_object().key("causes").begin_array();
  for (std::size_t cause = 0; cause < kIdleCauseCount; ++cause)
    json.text(name(static_cast<IdleCause>(cause)));
  json.end_array();
}

void TimelineWriter::write_steps(PageJson& json) const {
  json.key("steps").begin_array();
  if (model_.has_marked_steps()) {
    for (const Step& step : model_.steps())
      json.begin_array()
          .text(step.name)
          .number(step.begin_ns - begin_ns_)
          .number(step.end_ns - step.begin_ns)
          .end_array();
  }
  json.end_array();
}

void TimelineWriter::write_left_out(PageJson& json) const {
  const auto write = [&](const LeftOut& left_out, std::string_view what) {
    json.begin_array()
        .number(static_cast<std::int64_t>(left_out.count))
        .text(what)
        .number(left_out.longest_ns)
        .end_array();
  };
  json.key("left_out").begin_array();
  for (std::size_t t = 0; t < kTierCount; ++t) {
    if (left_out_[t].count != 0) write(left_out_[t], kTierNames[t]);
  }
  if (gaps_left_out_.count != 0) write(gaps_left_out_, "idle gaps");
  json.end_array();
}

std::string TimelineWriter::write(std::size_t max_spans) {
  texts_ = {};
  kinds_.clear();
  kind_ids_.clear();
  select(max_spans);
  PageJson json;
  json.begin_object().key("length").number(length_ns_);
  write_lanes(json);
  write_spans(json);
  write_activities(json);
  write_gaps(json, std::max(kMinSpans, max_spans / 3));
  write_steps(json);
  write_left_out(json);
  write_kinds(json);
  json.key("texts");
  texts_.write(json);
  json.end_object();
  return json.str();
}

}  // namespace

std::string page_timeline(const Examined& examined, std::size_t max_bytes) {
  TimelineWriter writer(examined);
  std::size_t spans = writer.candidates();
  std::string json = writer.write(spans);
  while (json.size() > max_bytes && spans > kMinSpans) {
    const double ratio = static_cast<double>(max_bytes) / static_cast<double>(json.size());
    spans = std::max(kMinSpans,
                     static_cast<std::size_t>(static_cast<double>(spans) * std::min(0.9, 0.98 * ratio)));
    json = writer.write(spans);
  }
  return json;
}

}  // namespace pel::doctor

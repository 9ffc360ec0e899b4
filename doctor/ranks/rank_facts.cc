#include "doctor/ranks/rank_facts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include <simdjson.h>

#include "base/file_name.h"
#include "base/sort_stably.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/model/element_types.h"

namespace pel::doctor {
namespace {

constexpr int kMaxEnclosing = 1000;

class Texts {
 public:
  Texts() { add(""); }
  std::uint32_t add(std::string_view text) {
    const auto [at, is_new] = ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(at->first);
    return at->second;
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> texts_;
};

// The name, process group and number of a collective.
struct CollectiveCall {
  std::string_view name, group;
  std::int64_t sequence = kNoNumber, ranks = 0, bytes = -1;
};
CollectiveCall collective_call(const Examined& examined, const Activity& activity) {
  const EventTable& events = examined.model.events();
  CollectiveCall call;
  const auto take = [&](const CollectiveArgs& args) {
    call.name = events.names[args.name];
    call.group = events.names[args.group];
    call.sequence = args.sequence;
    if (args.ranks != kNoNumber) call.ranks = args.ranks;
    const int bytes = bytes_of_element(events.names[args.dtype]);
    if (args.elements != kNoNumber && args.elements >= 0 && bytes != 0 &&
        args.elements < std::numeric_limits<std::int64_t>::max() / 8)
      call.bytes = args.elements * bytes;
  };
  if (const CollectiveArgs* args = events.collective(activity.event)) take(*args);
  EventId e = activity.launch == kNoEvent ? examined.model.op_of_activity(activity) : activity.launch;
  for (int level = 0; e != kNoEvent && level < kMaxEnclosing && call.name.empty();
       ++level, e = examined.model.parent(e)) {
    if (const CollectiveArgs* args = events.collective(e)) {
      take(*args);
    } else if (events.name(e).starts_with("nccl:")) {
      call.name = events.name(e).substr(5);
    }
  }
  if (call.name.empty()) {
    const KernelName& name = examined.kernels.of(activity.event);
    call.name = name.functor ? std::string_view(*name.functor) : std::string_view(name.title);
  }
  return call;
}

// Between two ranks: no others wait for them.
bool is_between_two(std::string_view name) {
  return name == "send" || name == "recv" || name.starts_with("send ") || name.starts_with("recv ") ||
         name.starts_with("batch_isend_irecv");
}

// Of one device: where it idled, where others than collectives ran.
struct DeviceSpans {
  struct Idle {
    std::int64_t begin_ns, end_ns;
    IdleCause cause;
  };
  std::vector<Idle> idle;                                      // ascending
  std::vector<std::pair<std::int64_t, std::int64_t>> working;  // ascending, apart
  std::vector<std::int64_t> begins;                            // of activities other than collectives

  // Visits what is in working between two times.
  template <class Visit>
  void for_each_working(std::int64_t from, std::int64_t to, Visit visit) const {
    auto span = std::upper_bound(working.begin(), working.end(), from,
                                 [](std::int64_t time, const auto& s) { return time < s.second; });
    for (; span != working.end() && span->first < to; ++span)
      visit(std::max(span->first, from), std::min(span->second, to));
  }
  void fill_in(Collective& collective) const {
    const std::int64_t from = collective.since_ns, to = collective.begin_ns;
    std::int64_t rest = to - from;
    std::array<std::int64_t, kBeforeIdle + kIdleCauseCount> sums{};
    const auto share = [&](std::int64_t begin, std::int64_t end, std::size_t kind) {
      const std::int64_t ns = std::min(end, to) - std::max(begin, from);
      rest -= ns;
      sums[kind] += ns;
    };
    auto gap = std::upper_bound(idle.begin(), idle.end(), from,
                                [](std::int64_t time, const Idle& span) { return time < span.end_ns; });
    for (; gap != idle.end() && gap->begin_ns < to; ++gap)
      share(gap->begin_ns, gap->end_ns, kBeforeIdle + static_cast<std::size_t>(gap->cause));
    for_each_working(from, to,
                     [&](std::int64_t begin, std::int64_t end) { share(begin, end, kBeforeKernels); });
    sums[kBeforeCommunication] = std::max<std::int64_t>(0, rest);
    std::transform(sums.begin(), sums.end(), collective.before.begin(),
                   [](std::int64_t ns) { return static_cast<float>(ns); });
    std::int64_t overlapped_ns = 0;
    for_each_working(collective.begin_ns, collective.end_ns,
                     [&](std::int64_t begin, std::int64_t end) { overlapped_ns += end - begin; });
    collective.overlapped_ns = static_cast<float>(overlapped_ns);
    collective.kernels = static_cast<std::uint32_t>(std::lower_bound(begins.begin(), begins.end(), to) -
                                                    std::lower_bound(begins.begin(), begins.end(), from));
  }
};

std::map<std::int32_t, DeviceSpans> spans_of(const Examined& examined) {
  const Model& model = examined.model;
  std::map<std::int32_t, DeviceSpans> devices;
  for (const Gap& gap : examined.time.gaps())
    devices[model.activities()[gap.next].device].idle.push_back({gap.begin_ns, gap.end_ns, gap.cause});
  for (const Activity& activity : model.activities()) {
    if (examined.kernels.is_collective(activity.event)) continue;
    DeviceSpans& device = devices[activity.device];
    device.begins.push_back(activity.begin_ns);
    if (!device.working.empty() && activity.begin_ns <= device.working.back().second) {
      device.working.back().second = std::max(device.working.back().second, activity.end_ns);
    } else {
      device.working.emplace_back(activity.begin_ns, activity.end_ns);
    }
  }
  return devices;
}

std::int64_t first_time(const Model& model) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const RowId row : model.host_rows()) {
    if (!model.of_row(row).empty())
      first = std::min(first, model.events().begin_ns(model.of_row(row).front()));
  }
  if (!model.activities().empty()) first = std::min(first, model.activities()[0].begin_ns);
  return first;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits after a word and one of -_: 34 of "rank-34.Jul". -1: there are none.
std::int64_t number_after(std::string_view text, std::string_view word, std::size_t* end) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::int64_t number = -1;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at != 0 && is_letter(text[at - 1])) continue;  // frank7
    std::size_t digits = at + word.size();
    if (digits < text.size() && (text[digits] == '-' || text[digits] == '_')) ++digits;
    std::int64_t value;
    const auto [past, error] = std::from_chars(text.data() + digits, text.data() + text.size(), value);
    if (error != std::errc() || value < 0) continue;
    number = value;
    *end = static_cast<std::size_t>(past - text.data());
  }
  return number;
}

// The host in HOST_PID.TIME.pt.trace.json; empty: the name is another.
std::string host_in(std::string_view name) {
  const auto all_digits = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
  };
  const std::size_t past = name.find(".pt.trace.json");
  if (past == std::string_view::npos) return {};
  name = name.substr(0, past);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || !all_digits(name.substr(dot + 1))) return {};
  name = name.substr(0, dot);
  const std::size_t line = name.rfind('_');
  if (line == std::string_view::npos || !all_digits(name.substr(line + 1))) return {};
  return std::string(name.substr(0, line));
}

}  // namespace

RankIdentity rank_identity(const TraceSummary& summary, std::string_view source_name) {
  RankIdentity identity;
  const std::string_view name = file_name(source_name);
  identity.host = host_in(name);
  if (const std::string* json = summary.find("distributedInfo")) {
    simdjson::dom::parser parser;
    simdjson::dom::element info;
    if (parser.parse(*json).get(info) == simdjson::SUCCESS) {
      if (info["rank"].get(identity.rank) != simdjson::SUCCESS) identity.rank = -1;
      if (info["world_size"].get(identity.world) != simdjson::SUCCESS) identity.world = 0;
    }
  }
  if (identity.rank >= 0) return identity;
  for (const std::string_view word : {"rank", "worker"}) {
    std::size_t end = 0;
    identity.rank = number_after(name, word, &end);
    if (identity.rank < 0) continue;
    std::size_t past = 0;
    const std::string_view rest = name.substr(end);
    if (rest.starts_with("of")) identity.world = std::max<std::int64_t>(0, number_after(rest, "of", &past));
    identity.host.clear();  // what looks like a host contains the rank
    return identity;
  }
  if (name.starts_with('r')) {
    std::size_t digits = 1;
    while (digits < name.size() && is_digit(name[digits])) ++digits;
    std::size_t end = 0;
    if (digits < name.size() && std::string_view("-_.").find(name[digits]) != std::string_view::npos)
      identity.rank = number_after(name.substr(0, digits), "r", &end);
  }
  return identity;
}

RankFacts reduce_rank(const Examined& examined, const std::string& source_name) {
  const Model& model = examined.model;
  RankFacts facts;
  facts.source = source_name;
  RankIdentity identity = rank_identity(model.summary(), source_name);
  facts.rank = identity.rank;
  facts.world = identity.world;
  facts.host = std::move(identity.host);
  facts.events = model.summary().events;
  facts.activities = model.activities().size();
  facts.time = examined.time.all();
  for (std::size_t i = 0; i < model.steps().size(); ++i)
    facts.steps.push_back({model.steps()[i].name, examined.time.of_steps()[i]});

  struct Found {
    const Activity* activity;
    CollectiveCall call;
    std::int64_t launched_ns;
  };
  std::vector<Found> found;
  for (const Activity& activity : model.activities()) {
    if (!examined.kernels.is_collective(activity.event)) continue;
    const CollectiveCall call = collective_call(examined, activity);
    if (is_between_two(call.name)) continue;
    found.push_back(
        {&activity, call,
         activity.launch == kNoEvent ? activity.begin_ns : model.events().begin_ns(activity.launch)});
  }
  sort_stably(found, [](const Found& a, const Found& b) { return a.launched_ns < b.launched_ns; });

  Texts texts;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::int64_t> counts;
  std::map<std::int32_t, std::vector<std::int64_t>> ends;  // of a device's collectives, ascending
  for (const Found& one : found) ends[one.activity->device].push_back(one.activity->end_ns);
  for (auto& [device, of_device] : ends) std::sort(of_device.begin(), of_device.end());
  const std::map<std::int32_t, DeviceSpans> spans = spans_of(examined);
  const std::int64_t first_ns = first_time(model), latest = std::numeric_limits<std::int64_t>::max() / 4;
  const std::int64_t base_ns = std::clamp(model.summary().base_time_ns.value_or(0), -latest, latest);
  for (const Found& one : found) {
    Collective collective;
    collective.event = one.activity->event;
    collective.group = texts.add(one.call.group);
    collective.name = texts.add(one.call.name);
    if (model.has_marked_steps())
      collective.step = texts.add(
          one.activity->step < model.steps().size() ? model.steps()[one.activity->step].name : "outside");
    collective.ranks = static_cast<std::int32_t>(std::clamp<std::int64_t>(one.call.ranks, 0, 1 << 30));
    collective.is_numbered = one.call.sequence != kNoNumber;
    collective.index = collective.is_numbered
                           ? one.call.sequence
                           : counts[{collective.group, collective.name, collective.step}]++;
    collective.bytes = one.call.bytes;
    collective.begin_ns = one.activity->begin_ns;
    collective.end_ns = one.activity->end_ns;
    const std::vector<std::int64_t>& before = ends[one.activity->device];
    const auto last = std::upper_bound(before.begin(), before.end(), one.activity->begin_ns);
    collective.is_first = last == before.begin();
    collective.since_ns = collective.is_first ? std::min(first_ns, one.activity->begin_ns) : *std::prev(last);
    const auto device = spans.find(one.activity->device);
    if (device != spans.end()) device->second.fill_in(collective);
    // Beyond the year 2043 times are invalid, and their differences would overflow.
    for (std::int64_t* time : {&collective.since_ns, &collective.begin_ns, &collective.end_ns})
      *time = std::clamp(std::clamp(*time, -latest, latest) + base_ns, -latest, latest);
    facts.collectives.push_back(collective);
  }
  facts.texts = texts.take();
  return facts;
}

RankFacts reduce_rank(ByteSource& source, const ReadOptions& options) {
  const Examination examination(source, options);
  return reduce_rank(examination.examined(), source.name());
}

}  // namespace pel::doctor

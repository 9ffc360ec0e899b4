#include "doctor/ranks/compare_ranks.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/median.h"
#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"
#include "doctor/prescriptions/limits.h"
#include "doctor/prescriptions/prescribe.h"

namespace pel::doctor {
namespace {

constexpr double kLateThatCounts = 1;           // percent of a rank's device time
constexpr std::int64_t kLateAgainstOthers = 3;  // times what the rank in the middle makes others wait
constexpr std::size_t kNamedStragglers = 3;     // in sentences, and prescribed
constexpr std::size_t kMaxMeetings = 100;       // of the worst that are listed
constexpr std::int64_t kLooseFitNs = 200'000;   // clocks of ranks that meet agree far better

std::string_view advice(LateCause cause) {
  switch (cause) {
    case LateCause::Kernels:
      return "Look at its clocks, its temperature and its share of the data.";
    case LateCause::Communication:
      return "It was delayed in another collective: look for the late rank there.";
    case LateCause::Dispatch:
      return "Its host launches too late: a busy or slow CPU, threads bound to the wrong cores, or Python "
             "code that only this rank runs.";
    case LateCause::Sync:
      return "Its host waits for the device where the others do not: .item(), printing, or copies to the "
             "host.";
    case LateCause::Input:
      return "Its data loader is slow: look at its storage, its workers and the size of its samples.";
    case LateCause::Guards:
      return "It compiles, or looks up compiled code, where the others do not.";
    case LateCause::Allocation:
      return "It allocates device memory: look at fragmentation and at its sizes.";
    case LateCause::Profiler:
      return "Its profiler flushes buffers: record fewer steps at a time.";
    case LateCause::Other:
      return "Its trace does not show why.";
  }
  return "";
}

// By number, so that nothing depends on the order of the files; a rank without a number gets that of its
// place.
std::vector<RankFacts> in_order(std::vector<RankFacts> ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].rank < 0) ranks[r].rank = static_cast<std::int64_t>(r);
  sort_stably(ranks, [](const RankFacts& a, const RankFacts& b) { return a.rank < b.rank; });
  for (std::size_t r = 1; r < ranks.size(); ++r)
    PEL_CHECK(ranks[r - 1].rank != ranks[r].rank, FileError,
              "{} and {} are both of rank {}: give one trace per rank of one run", ranks[r - 1].source,
              ranks[r].source, ranks[r].rank);
  return ranks;
}

class RankReport {
 public:
  explicit RankReport(std::vector<RankFacts> ranks)
      : ranks_(in_order(std::move(ranks))), compared_(weigh_ranks(ranks_)) {}

  std::vector<Finding> findings() const {
    std::vector<Finding> all;
    if (std::optional<Finding> what_to_do = prescriptions_finding(prescriptions()))
      all.push_back(std::move(*what_to_do));
    all.push_back(stragglers());
    all.push_back(communication());
    return all;
  }

 private:
  bool counts(const Straggler& straggler) const {
    const std::int64_t middle = compared_.stragglers[compared_.stragglers.size() / 2].waited_ns;
    return share_of_time(straggler) >= kLateThatCounts &&
           straggler.waited_ns >= saturating_mul(kLateAgainstOthers, middle);
  }

  double share_of_time(const Straggler& s) const {
    return std::min(100.0, percent_of(s.waited_ns, compared_.typical_ns));  // collectives may overlap
  }

  std::string reason(const Straggler& s) const {
    const LateCause cause = s.cause();
    if (cause != LateCause::Kernels) return std::string(name(cause));
    if (s.typical_kernels != 0 && percent_of(std::abs(s.kernels - s.typical_kernels), s.typical_kernels) >= 2)
      return fmt::format("kernels: {} where the others run {}", s.kernels, s.typical_kernels);
    return fmt::format("kernels, which take {:.0f} % longer",
                       percent_of(s.kernel_ns - s.typical_kernel_ns, s.typical_kernel_ns));
  }

  // The median of how many steps of a rank do something.
  std::int64_t steps() const {
    std::vector<std::int64_t> counts;
    for (const RankFacts& rank : ranks_)
      counts.push_back(
          std::ranges::count_if(rank.steps, [](const StepFacts& s) { return s.time.total() > 0; }));
    return std::max<std::int64_t>(1, counts.empty() ? 0 : median_of(std::move(counts)));
  }

  Prescriptions prescriptions() const {
    Prescriptions result{.list = {}, .total_ns = compared_.typical_ns, .steps = steps()};
    const auto gain_of = [&](std::span<const std::uint32_t> late) {
      return std::min(gain_if_typical(ranks_, compared_, late), compared_.typical_ns);
    };
    std::vector<std::uint32_t> late;
    for (const Straggler& s : compared_.stragglers) {
      if (!counts(s) || late.size() == kNamedStragglers) break;
      if (s.cause() == LateCause::Communication) continue;  // another rank held it up
      const std::int64_t saved_ns = gain_of({&s.rank, 1});
      if (percent_of(saved_ns, compared_.typical_ns) < kMinGainPercent) continue;
      late.push_back(s.rank);
      result.list.push_back(
          {.key = "straggler",
           .action =
               fmt::format("Rank {} is the straggler: the others wait for it at {} of {} collectives, "
                           "because of its {}",
                           ranks_[s.rank].rank, s.collectives, compared_.aligned.meetings.size(), reason(s)),
           .how = std::string(advice(s.cause())),
           .where = ranks_[s.rank].source,
           .needs = "it becomes as fast as the median rank",
           .count = s.collectives,
           .saved_ns = saved_ns,
           .basis = Basis::Waits});
    }
    sort_stably(result.list,
                [](const Prescription& a, const Prescription& b) { return a.saved_ns > b.saved_ns; });
    if (late.size() < 2) return result;
    result.together = late.size();
    result.together_ns = std::max(gain_of(late), result.list.front().saved_ns);
    return result;
  }

  void say_stragglers(Finding& finding) const {
    std::size_t named = 0;
    std::array<bool, kLateCauseCount> is_advised{};
    for (const Straggler& s : compared_.stragglers) {
      if (!counts(s) || named == kNamedStragglers) break;
      ++named;
      const auto cause = static_cast<std::size_t>(s.cause());
      std::string sentence = fmt::format(
          "Rank {} is late: at {} of {} collectives the others wait for it, {} in total ({:.1f} % of their "
          "time). {:.0f} % of that is due to {}.",
          ranks_[s.rank].rank, s.collectives, compared_.aligned.meetings.size(), readable_ns(s.waited_ns),
          share_of_time(s), percent_of(s.causes_ns[cause], s.waited_ns), reason(s));
      if (!is_advised[cause]) sentence.append(" ").append(advice(s.cause()));
      is_advised[cause] = true;
      finding.sentences.push_back(std::move(sentence));
    }
    if (named == 0 && !compared_.aligned.meetings.empty())
      finding.sentences.push_back(fmt::format(
          "No rank stands out: none makes the others wait {:.0f} % of their time.", kLateThatCounts));
    const auto first = std::max_element(
        compared_.stragglers.begin(), compared_.stragglers.end(),
        [](const Straggler& a, const Straggler& b) { return a.at_first_ns < b.at_first_ns; });
    if (percent_of(first->at_first_ns, compared_.typical_ns) >= kLateThatCounts)
      finding.sentences.push_back(
          fmt::format("At the first collective the others waited {} for rank {}: the cause is before the "
                      "trace, so it is not counted.",
                      readable_ns(first->at_first_ns), ranks_[first->rank].rank));
  }

  void say_limits(Finding& finding) const {
    const std::int64_t world =
        std::accumulate(ranks_.begin(), ranks_.end(), std::int64_t{0},
                        [](std::int64_t most, const RankFacts& r) { return std::max(most, r.world); });
    if (world > static_cast<std::int64_t>(ranks_.size()))
      finding.sentences.push_back(fmt::format(
          "These are {} of {} ranks: a late one may be among the missing ranks.", ranks_.size(), world));
    if (compared_.aligned.meetings.empty())
      finding.sentences.emplace_back(
          "No collective appears in the traces of two ranks: record the same steps of all ranks of one "
          "run.");
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ClockFit& clock = compared_.aligned.clocks[r];
      if (clock.is_known && clock.spread_ns > kLooseFitNs)
        finding.sentences.push_back(fmt::format(
            "Rank {} ends collectives {} apart from the others, which should end together: its trace may "
            "begin at another collective, or its clock drifts.",
            ranks_[r].rank, readable_ns(clock.spread_ns)));
    }
    if (compared_.aligned.ambiguous != 0)
      finding.sentences.push_back(fmt::format(
          "{} collectives have more ranks than their group and were left out.", compared_.aligned.ambiguous));
  }

  Finding stragglers() const {
    Finding finding{.key = "stragglers", .title = "Ranks that others wait for"};
    if (ranks_.empty()) {
      finding.sentences.emplace_back("There is no rank to compare.");
      return finding;
    }
    say_stragglers(finding);
    say_limits(finding);
    std::int64_t widest = 0;
    for (const ClockFit& clock : compared_.aligned.clocks)
      widest = std::max(widest, std::abs(clock.offset_ns));
    finding.facts = {
        {"ranks", "ranks", static_cast<std::int64_t>(ranks_.size()), Unit::Count},
        {"collectives", "collectives of two ranks or more",
         static_cast<std::int64_t>(compared_.aligned.meetings.size()), Unit::Count},
        {"met_alone", "of one rank alone", static_cast<std::int64_t>(compared_.aligned.met_alone),
         Unit::Count},
        {"waited_ns", "waited for the last rank",
         std::accumulate(compared_.waits.begin(), compared_.waits.end(), SaturatingSum(),
                         [](SaturatingSum sum, const MeetingWait& wait) { return sum + wait.typical_ns; }),
         Unit::Nanoseconds},
        {"clock_offset_ns", "largest clock offset", widest, Unit::Nanoseconds},
    };
    Table table{.key = "stragglers",
                .title = "by the median wait of the other ranks",
                .columns = {{"rank", "rank", Unit::Count},
                            {"waited_ns", "waited", Unit::Nanoseconds},
                            {"share", "of time", Unit::Percent},
                            {"alone_ns", "due to it alone", Unit::Nanoseconds},
                            {"collectives", "last in", Unit::Count},
                            {"cause", "cause"},
                            {"cause_share", "share", Unit::Percent},
                            {"reason", "reason", Unit::None, true},
                            {"rank_ns", "", Unit::Nanoseconds},
                            {"at_first_ns", "", Unit::Nanoseconds},
                            {"source", ""}},
                .rows = {}};
    for (const Straggler& s : compared_.stragglers) {
      if (s.waited_ns == 0 && s.at_first_ns == 0) continue;
      const LateCause cause = s.cause();
      table.rows.push_back({ranks_[s.rank].rank, s.waited_ns, share_of_time(s), s.alone_ns, s.collectives,
                            s.waited_ns == 0 ? Value() : Value(std::string(name(cause))),
                            percent_of(s.causes_ns[static_cast<std::size_t>(cause)], s.waited_ns),
                            s.waited_ns == 0 ? Value() : Value(reason(s)), s.rank_ns, s.at_first_ns,
                            ranks_[s.rank].source});
    }
    finding.tables.push_back(std::move(table));
    finding.tables.push_back(worst_meetings());
    return finding;
  }

  const Collective& first_of(const Meeting& meeting, const RankFacts** facts) const {
    const Arrival& arrival = compared_.aligned.of(meeting)[0];
    *facts = &ranks_[arrival.rank];
    return (*facts)->collectives[arrival.collective];
  }

  Table worst_meetings() const {
    Table table{.key = "collectives",
                .title = "collectives with the longest waits",
                .columns = {{"waited_ns", "waited", Unit::Nanoseconds},
                            {"rank", "for rank", Unit::Count},
                            {"name", "collective", Unit::None, true},
                            {"index", "number", Unit::Count},
                            {"step", "step"},
                            {"group", "group"},
                            {"ranks", "ranks", Unit::Count}},
                .rows = {},
                .shown = 5};
    std::vector<std::size_t> order(compared_.aligned.meetings.size());
    std::iota(order.begin(), order.end(), 0);
    const std::size_t count = std::min(kMaxMeetings, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](std::size_t a, std::size_t b) {
                        const std::int64_t ns = compared_.waits[a].typical_ns;
                        return ns != compared_.waits[b].typical_ns ? ns > compared_.waits[b].typical_ns
                                                                   : a < b;
                      });
    for (std::size_t i = 0; i < count; ++i) {
      const Meeting& meeting = compared_.aligned.meetings[order[i]];
      const RankFacts* facts;
      const Collective& one = first_of(meeting, &facts);
      const auto text = [&](std::uint32_t id) {
        return facts->texts[id].empty() ? Value() : Value(facts->texts[id]);
      };
      const MeetingWait& wait = compared_.waits[order[i]];
      table.rows.push_back({wait.typical_ns, ranks_[wait.late].rank, text(one.name), one.index,
                            text(one.step), text(one.group),
                            static_cast<std::int64_t>(meeting.end - meeting.begin)});
    }
    return table;
  }

  Finding communication() const {
    Finding finding{.key = "ranks", .title = "Ranks"};
    Table table{.key = "ranks",
                .title = "device time of each rank",
                .columns = {{"rank", "rank", Unit::Count},
                            {"device_ns", "device time", Unit::Nanoseconds},
                            {"busy", "busy", Unit::Percent},
                            {"communication_ns", "exposed collectives", Unit::Nanoseconds},
                            {"communication", "of time", Unit::Percent},
                            {"waiting_ns", "waited for other ranks", Unit::Nanoseconds},
                            {"activities", "activities", Unit::Count},
                            {"offset_ns", "clock offset", Unit::Nanoseconds},
                            {"source", "trace", Unit::None, true}},
                .rows = {},
                .shown = 16};
    std::size_t least = 0, most = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const TimeShares& time = ranks_[r].time;
      const ClockFit& clock = compared_.aligned.clocks[r];
      if (time.communication_ns < ranks_[least].time.communication_ns) least = r;
      if (time.communication_ns > ranks_[most].time.communication_ns) most = r;
      table.rows.push_back({ranks_[r].rank, time.total(), percent_of(time.busy_ns, time.total()),
                            time.communication_ns, percent_of(time.communication_ns, time.total()),
                            compared_.waiting_ns[r], static_cast<std::int64_t>(ranks_[r].activities),
                            clock.is_known ? Value(clock.offset_ns) : Value(), ranks_[r].source});
    }
    if (!ranks_.empty() && ranks_[most].time.communication_ns != 0)
      finding.sentences.push_back(
          fmt::format("Exposed collectives take {} on rank {} to {} on rank {}; the rank that waits least is "
                      "the one that "
                      "the others wait for.",
                      readable_ns(ranks_[least].time.communication_ns), ranks_[least].rank,
                      readable_ns(ranks_[most].time.communication_ns), ranks_[most].rank));
    finding.tables.push_back(std::move(table));
    finding.tables.push_back(kinds());
    return finding;
  }

  // What a collective takes when the last has come: the shortest of its kernels.
  Table kinds() const {
    struct Kind {
      std::int64_t count = 0;
      SaturatingSum waited_ns, transfer_ns;
    };
    std::map<std::tuple<std::string, std::string, std::int64_t>, Kind> kinds;
    for (std::size_t m = 0; m < compared_.aligned.meetings.size(); ++m) {
      const RankFacts* facts;
      const Collective& one = first_of(compared_.aligned.meetings[m], &facts);
      Kind& kind = kinds[{facts->texts[one.name], facts->texts[one.group], one.bytes}];
      std::int64_t shortest = one.end_ns - one.begin_ns;
      for (const Arrival& a : compared_.aligned.of(compared_.aligned.meetings[m])) {
        const Collective& own = ranks_[a.rank].collectives[a.collective];
        shortest = std::min(shortest, own.end_ns - own.begin_ns);
      }
      ++kind.count;
      kind.waited_ns += compared_.waits[m].typical_ns;
      kind.transfer_ns += shortest;
    }
    Table table{.key = "kinds",
                .title = "collectives: wait, then transfer",
                .columns = {{"waited_ns", "waited", Unit::Nanoseconds},
                            {"transfer_ns", "transfer", Unit::Nanoseconds},
                            {"count", "times", Unit::Count},
                            {"bytes", "bytes", Unit::Bytes},
                            {"bytes_per_second", "bytes/s", Unit::BytesPerSecond},
                            {"name", "collective", Unit::None, true},
                            {"group", "group"}},
                .rows = {}};
    for (const auto& [key, kind] :
         by_largest(kinds, [](const Kind& k) { return k.waited_ns + k.transfer_ns; })) {
      const auto& [collective, group, bytes] = *key;
      const bool has_rate = bytes >= 0 && kind->transfer_ns != 0;
      table.rows.push_back({kind->waited_ns, kind->transfer_ns, kind->count,
                            bytes < 0 ? Value() : Value(bytes),
                            has_rate ? Value(static_cast<double>(bytes) * static_cast<double>(kind->count) *
                                             1e9 / static_cast<double>(kind->transfer_ns))
                                     : Value(),
                            collective, group.empty() ? Value() : Value(group)});
    }
    return table;
  }

  std::vector<RankFacts> ranks_;
  RankComparison compared_;
};

}  // namespace

std::vector<Finding> compare_ranks(std::vector<RankFacts> ranks) {
  return RankReport(std::move(ranks)).findings();
}

}  // namespace pel::doctor

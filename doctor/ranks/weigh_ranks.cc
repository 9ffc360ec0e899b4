#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/median.h"
#include "base/sort_stably.h"
#include "doctor/model/saturating.h"
#include "doctor/ranks/compare_ranks.h"

namespace pel::doctor {
namespace {

LateCause late_cause(std::size_t kind) {
  if (kind == kBeforeKernels) return LateCause::Kernels;
  if (kind == kBeforeCommunication) return LateCause::Communication;
  switch (static_cast<IdleCause>(kind - kBeforeIdle)) {
    case IdleCause::Dispatch:
    case IdleCause::Latency:
      return LateCause::Dispatch;
    case IdleCause::Sync:
      return LateCause::Sync;
    case IdleCause::Input:
      return LateCause::Input;
    case IdleCause::Guards:
      return LateCause::Guards;
    case IdleCause::Allocation:
      return LateCause::Allocation;
    case IdleCause::Profiler:
      return LateCause::Profiler;
    case IdleCause::Dependency:
    case IdleCause::NoLaunch:
    case IdleCause::Unexplained:
      break;
  }
  return LateCause::Other;
}

// Ranks by one clock.
class Arrivals {
 public:
  Arrivals(std::span<const RankFacts> ranks, const AlignedRanks& aligned)
      : ranks_(ranks), aligned_(aligned) {}

  const Collective& of(const Arrival& a) const { return ranks_[a.rank].collectives[a.collective]; }
  std::int64_t true_ns(const Arrival& a, std::int64_t own_ns) const {
    return aligned_.clocks[a.rank].true_ns(own_ns);
  }
  std::int64_t arrived(const Arrival& a) const { return true_ns(a, of(a).begin_ns); }
  // It cannot have waited longer than its kernel ran, whatever the clocks say.
  std::int64_t wait_ns(const Arrival& a, const Arrival& last) const {
    return std::clamp<std::int64_t>(saturating_sub(arrived(last), arrived(a)), 0,
                                    of(a).end_ns - of(a).begin_ns);
  }
  const Arrival& last_of(std::span<const Arrival> arrivals) const {
    return *std::max_element(arrivals.begin(), arrivals.end(),
                             [&](const Arrival& a, const Arrival& b) { return arrived(a) < arrived(b); });
  }

 private:
  std::span<const RankFacts> ranks_;
  const AlignedRanks& aligned_;
};

class Weigher {
 public:
  Weigher(std::span<const RankFacts> ranks, RankComparison& result)
      : at_(ranks, result.aligned), result_(result) {}

  void weigh(const Meeting& meeting) {
    arrivals_ = result_.aligned.of(meeting);
    const Arrival& last = at_.last_of(arrivals_);
    std::vector<std::int64_t> waits;
    SaturatingSum all;
    for (const Arrival& a : arrivals_) {
      if (a.rank == last.rank) continue;
      const std::int64_t wait = at_.wait_ns(a, last);
      waits.push_back(wait);
      all += wait;
      result_.waiting_ns[a.rank] += wait;
    }
    const std::int64_t alone = *std::min_element(waits.begin(), waits.end());
    const std::int64_t typical = lower_median_of(std::move(waits));
    MeetingWait& wait = result_.waits.emplace_back();
    wait = {.late = last.rank,
            .collective = last.collective,
            .is_first = at_.of(last).is_first,
            .typical_ns = typical,
            .alone_ns = alone,
            .all_ns = all};
    Straggler& straggler = result_.stragglers[last.rank];
    if (wait.is_first) {
      straggler.at_first_ns += typical;
      return;
    }
    ++straggler.collectives;
    straggler.waited_ns += typical;
    straggler.alone_ns += alone;
    straggler.rank_ns += all;
    wait.cause = blame(last, typical, straggler);
  }

 private:
  template <class F>
  auto typical_other(const Arrival& late, F&& value) const {
    std::vector<decltype(value(late))> values;
    for (const Arrival& a : arrivals_) {
      if (a.rank != late.rank) values.push_back(value(a));
    }
    return lower_median_of(std::move(values));
  }

  // Shares out what was waited among the things that took the late rank longer than the others. Returns the
  // largest.
  LateCause blame(const Arrival& late, std::int64_t waited_ns, Straggler& straggler) const {
    std::array<double, kLateCauseCount> more{};
    double all = 0;
    const auto add = [&](LateCause cause, double ns) {
      if (ns <= 0) return;
      more[static_cast<std::size_t>(cause)] += ns;
      all += ns;
    };
    for (std::size_t kind = 0; kind < kBeforeIdle + kIdleCauseCount; ++kind) {
      const float typical = typical_other(late, [&](const Arrival& a) { return at_.of(a).before[kind]; });
      add(late_cause(kind), at_.of(late).before[kind] - typical);
      if (kind != kBeforeKernels) continue;
      straggler.kernel_ns += static_cast<std::int64_t>(at_.of(late).before[kind]);
      straggler.typical_kernel_ns += static_cast<std::int64_t>(typical);
    }
    // It left the collective before later than the others left theirs.
    const std::int64_t since =
        typical_other(late, [&](const Arrival& a) { return at_.true_ns(a, at_.of(a).since_ns); });
    add(LateCause::Communication,
        static_cast<double>(saturating_sub(at_.true_ns(late, at_.of(late).since_ns), since)));
    straggler.kernels += at_.of(late).kernels;
    straggler.typical_kernels += typical_other(late, [&](const Arrival& a) { return at_.of(a).kernels; });

    std::int64_t rest = waited_ns;
    for (std::size_t cause = 0; all > 0 && cause < kLateCauseCount; ++cause) {
      const auto ns = static_cast<std::int64_t>(static_cast<double>(waited_ns) * more[cause] / all);
      straggler.causes_ns[cause] += ns;
      rest -= ns;
    }
    straggler.causes_ns[static_cast<std::size_t>(LateCause::Other)] += rest;  // and what rounding left
    return all > 0 ? static_cast<LateCause>(std::max_element(more.begin(), more.end()) - more.begin())
                   : LateCause::Other;
  }

  Arrivals at_;
  RankComparison& result_;
  std::span<const Arrival> arrivals_;
};

}  // namespace

std::string_view name(LateCause cause) {
  static constexpr std::array<std::string_view, kLateCauseCount> kNames{
      "kernels", "communication", "dispatch", "sync", "input", "guards", "allocation", "profiler", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

LateCause Straggler::cause() const {
  return static_cast<LateCause>(std::max_element(causes_ns.begin(), causes_ns.end()) - causes_ns.begin());
}

RankComparison weigh_ranks(std::span<const RankFacts> ranks) {
  RankComparison result;
  result.aligned = align_ranks(ranks);
  result.waiting_ns.resize(ranks.size());
  result.stragglers.resize(ranks.size());
  std::vector<std::int64_t> totals;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    result.stragglers[r].rank = r;
    totals.push_back(ranks[r].time.total());
  }
  result.typical_ns = lower_median_of(std::move(totals));
  Weigher weigher(ranks, result);
  for (const Meeting& meeting : result.aligned.meetings) weigher.weigh(meeting);
  sort_stably(result.stragglers,
              [](const Straggler& a, const Straggler& b) { return a.waited_ns > b.waited_ns; });
  return result;
}

std::int64_t gain_if_typical(std::span<const RankFacts> ranks, const RankComparison& compared,
                             std::span<const std::uint32_t> late) {
  const Arrivals at(ranks, compared.aligned);
  const auto is_late = [&](const Arrival& a) { return std::ranges::find(late, a.rank) != late.end(); };
  SaturatingSum gain;
  for (const Meeting& meeting : compared.aligned.meetings) {
    const std::span<const Arrival> arrivals = compared.aligned.of(meeting);
    const Arrival& last = at.last_of(arrivals);
    if (!is_late(last) || at.of(last).is_first) continue;
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const Arrival& a : arrivals) {
      if (is_late(a)) continue;
      const auto overlapped = static_cast<std::int64_t>(at.of(a).overlapped_ns);
      shortest = std::min(shortest, std::max<std::int64_t>(0, at.wait_ns(a, last) - overlapped));
    }
    if (shortest != std::numeric_limits<std::int64_t>::max()) gain += shortest;
  }
  return gain;
}

}  // namespace pel::doctor

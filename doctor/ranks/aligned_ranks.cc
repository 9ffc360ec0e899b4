#include "doctor/ranks/aligned_ranks.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>

namespace pel::doctor {
namespace {

constexpr int kRefinements = 3;
constexpr std::size_t kMinForDrift = 12;        // meetings
constexpr std::int64_t kSpreadOfDrift = 1'000;  // nanoseconds; below, a constant offset is good enough

// Of an even number, between the two in the middle.
std::int64_t middle_of(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 != 0) return *upper;
  const std::int64_t lower = *std::max_element(values.begin(), upper);
  return std::midpoint(lower, *upper);
}

struct MeetingKey {
  std::uint32_t group, name, step;
  bool is_numbered;
  std::int64_t index;
  auto operator<=>(const MeetingKey&) const = default;
};

// Those of one key are one meeting; a rank that has a key twice counts once.
void find_meetings(std::span<const RankFacts> ranks, AlignedRanks& aligned) {
  struct Entry {
    MeetingKey key;
    Arrival arrival;
  };
  std::unordered_map<std::string, std::uint32_t> ids;
  std::vector<Entry> entries;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    std::vector<std::uint32_t> id_of;
    for (const std::string& text : ranks[r].texts)
      id_of.push_back(ids.try_emplace(text, static_cast<std::uint32_t>(ids.size())).first->second);
    for (std::uint32_t c = 0; c < ranks[r].collectives.size(); ++c) {
      const Collective& one = ranks[r].collectives[c];
      const std::uint32_t step = one.is_numbered ? 0 : id_of[one.step];
      entries.push_back({{id_of[one.group], id_of[one.name], step, one.is_numbered, one.index}, {r, c}});
    }
  }
  const auto order = [](const Entry& e) { return std::tuple(e.key, e.arrival.rank, e.arrival.collective); };
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return order(a) < order(b); });
  for (std::size_t i = 0; i < entries.size();) {
    const auto begin = static_cast<std::uint32_t>(aligned.arrivals.size());
    std::int64_t most = 0;
    std::size_t j = i;
    for (; j < entries.size() && entries[j].key == entries[i].key; ++j) {
      const Arrival& arrival = entries[j].arrival;
      if (aligned.arrivals.size() != begin && aligned.arrivals.back().rank == arrival.rank) continue;
      aligned.arrivals.push_back(arrival);
      most = std::max<std::int64_t>(most, ranks[arrival.rank].collectives[arrival.collective].ranks);
    }
    i = j;
    const auto end = static_cast<std::uint32_t>(aligned.arrivals.size());
    if (end - begin >= 2 && (most == 0 || end - begin <= most)) {
      aligned.meetings.push_back({begin, end});
      continue;
    }
    (end - begin < 2 ? aligned.met_alone : aligned.ambiguous) += 1;
    aligned.arrivals.resize(begin);
  }
}

class ClockFitter {
 public:
  ClockFitter(std::span<const RankFacts> ranks, AlignedRanks& aligned)
      : ranks_(ranks), aligned_(aligned), meetings_of_(ranks.size()) {
    for (std::uint32_t m = 0; m < aligned.meetings.size(); ++m) {
      for (const Arrival& arrival : aligned.of(aligned.meetings[m])) meetings_of_[arrival.rank].push_back(m);
    }
    aligned_.clocks.resize(ranks.size());
    ends_.resize(aligned.meetings.size());
    has_end_.resize(aligned.meetings.size());
  }

  void run() {
    std::uint32_t component = 0;
    for (;; ++component) {
      const std::uint32_t reference = max_met();
      if (reference == kNobody) break;
      spread_from(reference, component);
    }
    for (int i = 0; i < kRefinements; ++i) {
      find_ends();
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (aligned_.clocks[r].is_known) fit(r);
      }
      for (std::uint32_t c = 0; c < component; ++c) anchor(c);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (!aligned_.clocks[r].is_known) aligned_.clocks[r].component = component++;
    }
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  std::uint32_t max_met() const {
    std::uint32_t best = kNobody;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (aligned_.clocks[r].is_known || meetings_of_[r].empty()) continue;
      if (best == kNobody || meetings_of_[r].size() > meetings_of_[best].size()) best = r;
    }
    return best;
  }

  // Always goes on with the rank that meets known ones most often.
  void spread_from(std::uint32_t reference, std::uint32_t component) {
    references_.push_back(reference);
    std::vector<std::uint32_t> known_meetings(ranks_.size());
    std::priority_queue<std::pair<std::uint32_t, std::uint32_t>> queue;
    queue.emplace(0, reference);
    while (!queue.empty()) {
      const std::uint32_t r = queue.top().second;
      queue.pop();
      if (aligned_.clocks[r].is_known) continue;
      if (r != reference) {
        fit_drift(r);
        fit(r);
      }
      aligned_.clocks[r].is_known = true;
      aligned_.clocks[r].component = component;
      for (const std::uint32_t m : meetings_of_[r]) {
        if (has_end_[m]) continue;
        has_end_[m] = true;
        ends_[m] = own_end(r, m);
        for (const Arrival& other : aligned_.of(aligned_.meetings[m])) {
          if (!aligned_.clocks[other.rank].is_known) queue.emplace(++known_meetings[other.rank], other.rank);
        }
      }
    }
  }

  // By the clock of the reference.
  std::int64_t end_of(const Arrival& a) const {
    return aligned_.clocks[a.rank].true_ns(ranks_[a.rank].collectives[a.collective].end_ns);
  }
  std::int64_t own_end(std::uint32_t r, std::uint32_t m) const {
    const std::span<const Arrival> arrivals = aligned_.of(aligned_.meetings[m]);
    return end_of(*std::lower_bound(arrivals.begin(), arrivals.end(), r,
                                    [](const Arrival& a, std::uint32_t rank) { return a.rank < rank; }));
  }

  void find_ends() {
    std::vector<std::int64_t> ends;
    for (std::size_t m = 0; m < ends_.size(); ++m) {
      ends.clear();
      for (const Arrival& arrival : aligned_.of(aligned_.meetings[m])) ends.push_back(end_of(arrival));
      ends_[m] = middle_of(ends);
    }
  }

  // Where a straight line through the first and the last third of the differences explains most of what a
  // constant leaves.
  void fit_drift(std::uint32_t r) {
    struct Sample {
      std::int64_t end_ns, difference_ns;
    };
    std::vector<Sample> samples;
    for (const std::uint32_t m : meetings_of_[r]) {
      if (has_end_[m]) samples.push_back({own_end(r, m), saturating_sub(own_end(r, m), ends_[m])});
    }
    if (samples.size() < kMinForDrift) return;
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.end_ns < b.end_ns; });
    const auto middle_sample = [&](std::size_t begin, std::size_t end) {
      std::vector<std::int64_t> ends, differences;
      for (std::size_t i = begin; i < end; ++i) {
        ends.push_back(samples[i].end_ns);
        differences.push_back(samples[i].difference_ns);
      }
      return Sample{middle_of(ends), middle_of(differences)};
    };
    const std::size_t third = samples.size() / 3;
    const Sample first = middle_sample(0, third),
                 last = middle_sample(samples.size() - third, samples.size());
    if (last.end_ns == first.end_ns) return;
    ClockFit line{.origin_ns = first.end_ns,
                  .drift = static_cast<double>(saturating_sub(last.difference_ns, first.difference_ns)) /
                           static_cast<double>(saturating_sub(last.end_ns, first.end_ns))};
    const auto spread = [&](const ClockFit& clock) {
      std::vector<std::int64_t> rest;
      for (const Sample& sample : samples)
        rest.push_back(saturating_add(saturating_sub(clock.true_ns(sample.end_ns), sample.end_ns),
                                      sample.difference_ns));
      const std::int64_t middle = middle_of(rest);
      for (std::int64_t& value : rest) value = std::abs(saturating_sub(value, middle));
      return middle_of(rest);
    };
    const std::int64_t constant = spread(ClockFit());
    if (constant >= kSpreadOfDrift && saturating_mul(2, spread(line)) < constant) aligned_.clocks[r] = line;
  }

  // Against the end of each meeting; of these differences, the median.
  void fit(std::uint32_t r) {
    std::vector<std::int64_t> differences;
    for (const std::uint32_t m : meetings_of_[r]) {
      if (has_end_[m]) differences.push_back(saturating_sub(own_end(r, m), ends_[m]));
    }
    const std::int64_t shift = middle_of(differences);
    ClockFit& clock = aligned_.clocks[r];
    clock.offset_ns = saturating_add(clock.offset_ns, shift);
    for (std::int64_t& difference : differences) difference = std::abs(saturating_sub(difference, shift));
    clock.spread_ns = middle_of(differences);
  }

  void anchor(std::uint32_t component) {
    const std::int64_t shift = aligned_.clocks[references_[component]].offset_ns;
    for (ClockFit& clock : aligned_.clocks) {
      if (clock.is_known && clock.component == component)
        clock.offset_ns = saturating_sub(clock.offset_ns, shift);
    }
  }

  std::span<const RankFacts> ranks_;
  AlignedRanks& aligned_;
  std::vector<std::vector<std::uint32_t>> meetings_of_;
  std::vector<std::uint32_t> references_;  // by component
  std::vector<std::int64_t> ends_;         // of meetings, by the clock of the reference
  std::vector<bool> has_end_;
};

}  // namespace

AlignedRanks align_ranks(std::span<const RankFacts> ranks) {
  AlignedRanks aligned;
  find_meetings(ranks, aligned);
  ClockFitter(ranks, aligned).run();
  return aligned;
}

}  // namespace pel::doctor

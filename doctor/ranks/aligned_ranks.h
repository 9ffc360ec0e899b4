// The collectives of many ranks, aligned to one clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doctor/model/saturating.h"
#include "doctor/ranks/rank_facts.h"

namespace pel::doctor {

struct Arrival {
  std::uint32_t rank;        // of the facts, not the rank's own number
  std::uint32_t collective;  // of its facts
};

// One collective of two ranks or more.
struct Meeting {
  std::uint32_t begin, end;  // of AlignedRanks::arrivals
};

// How a rank's clock stands against that of the reference.
struct ClockFit {
  bool is_known = false;        // it meets the reference, or one that does
  std::int64_t offset_ns = 0;   // by which it is ahead, at origin_ns
  std::int64_t origin_ns = 0;   // by its own clock
  double drift = 0;             // by which it gains, in nanoseconds each
  std::int64_t spread_ns = 0;   // of what single collectives say, half of them within
  std::uint32_t component = 0;  // ranks of different ones never meet: their offsets say nothing of each other

  // By the clock of the reference.
  std::int64_t true_ns(std::int64_t own_ns) const {
    const std::int64_t without_drift = saturating_sub(own_ns, offset_ns);
    if (drift == 0) return without_drift;
    const double since_origin = static_cast<double>(saturating_sub(own_ns, origin_ns));
    return saturating_sub(without_drift, saturating_cast(drift * since_origin));
  }
};

struct AlignedRanks {
  std::vector<Arrival> arrivals;
  std::vector<Meeting> meetings;
  std::vector<ClockFit> clocks;  // by rank
  std::uint64_t met_alone = 0;   // collectives that no other rank has
  std::uint64_t ambiguous = 0;   // meetings of more ranks than the group has: left out

  std::span<const Arrival> of(const Meeting& meeting) const {
    return std::span(arrivals).subspan(meeting.begin, meeting.end - meeting.begin);
  }
};

// By process group and number; where the trace has no numbers, by group, name, step, and which of those it
// is. Clocks are fitted to the ends of collectives, which all ranks leave together.
AlignedRanks align_ranks(std::span<const RankFacts> ranks);

}  // namespace pel::doctor

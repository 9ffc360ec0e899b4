// Which ranks the others wait for, how long, and why they are late.
#pragma once

#include <span>
#include <vector>

#include "doctor/diagnosis/finding.h"
#include "doctor/model/saturating.h"
#include "doctor/ranks/aligned_ranks.h"

namespace pel::doctor {

// Why a rank arrives late, against what the others did before the same collective.
enum class LateCause : std::uint8_t {
  Kernels,        // its kernels take longer, or are more
  Communication,  // it was held up in another collective
  Dispatch,
  Sync,
  Input,
  Guards,
  Allocation,
  Profiler,
  Other,  // idle for another cause, or not to be seen
};
inline constexpr std::size_t kLateCauseCount = 9;
std::string_view name(LateCause cause);

struct Straggler {
  std::uint32_t rank = 0;        // of the facts
  SaturatingSum waited_ns;       // by the typical other, in all collectives that it came last to
  SaturatingSum alone_ns;        // of it, what would be gained if it were as early as the next to last
  SaturatingSum rank_ns;         // waited by all others together
  SaturatingSum at_first_ns;     // likewise, before the first collective; its reason is before the trace
  std::int64_t collectives = 0;  // it came last to
  std::int64_t kernels = 0, typical_kernels = 0;           // activities before these, its own and the others'
  SaturatingSum kernel_ns, typical_kernel_ns;              // and their time
  std::array<SaturatingSum, kLateCauseCount> causes_ns{};  // sum: waited_ns
  LateCause cause() const;
};

// What the others waited for the last to come to a meeting.
struct MeetingWait {
  std::uint32_t late = 0;              // who that was, of the facts
  std::uint32_t collective = 0;        // of its facts
  bool is_first = false;               // of the late rank: what delayed it is before the trace
  LateCause cause = LateCause::Other;  // the largest
  std::int64_t typical_ns = 0, alone_ns = 0, all_ns = 0;  // as those of a Straggler
};

struct RankComparison {
  AlignedRanks aligned;
  std::vector<Straggler> stragglers;      // all ranks, by waited_ns, the largest first
  std::vector<SaturatingSum> waiting_ns;  // by rank: in collectives, for the last to come
  std::int64_t typical_ns = 0;            // device time of a rank, the median
  std::vector<MeetingWait> waits;         // by meeting
};
RankComparison weigh_ranks(std::span<const RankFacts> ranks);

// What the run would gain if these ranks were as fast as the median: at each collective that one of them
// comes last to, the wait of the next to last, without the part during which other kernels run.
std::int64_t gain_if_typical(std::span<const RankFacts> ranks, const RankComparison& compared,
                             std::span<const std::uint32_t> late);

// What to do, where that gains enough; stragglers; all ranks.
std::vector<Finding> compare_ranks(std::vector<RankFacts> ranks);

}  // namespace pel::doctor

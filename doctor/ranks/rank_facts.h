// What a comparison of ranks needs of each rank: about a hundred bytes per collective, nothing per kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/readers/kineto.h"

namespace pel::doctor {

// What a rank's device did before a collective: worked, ran other collectives, or idled for some cause.
inline constexpr std::size_t kBeforeKernels = 0, kBeforeCommunication = 1, kBeforeIdle = 2;
using TimesBefore = std::array<float, kBeforeIdle + kIdleCauseCount>;  // nanoseconds

struct Collective {
  std::uint32_t group = 0, name = 0, step = 0;  // of RankFacts::texts; step "": none is marked
  bool is_numbered = false;               // `index` is the profiler's number of the call within its group
  bool is_first = false;                  // none ended before it: `since_ns` is where the trace begins
  std::int32_t ranks = 0;                 // that take part; 0: not known
  std::uint32_t kernels = 0;              // other activities, since then
  EventId event = kNoEvent;               // of the trace that it was read from
  std::int64_t index = 0;                 // else it counts those of one group, name and step, as launched
  std::int64_t bytes = -1;                // that a rank gives; -1: not known
  std::int64_t since_ns = 0;              // where the collective before it ended
  std::int64_t begin_ns = 0, end_ns = 0;  // by the rank's own clock
  TimesBefore before{};                   // from since_ns to begin_ns
  float overlapped_ns = 0;                // of begin_ns to end_ns: other kernels ran meanwhile
};

struct StepFacts {
  std::string name;
  TimeShares time;
};

struct RankFacts {
  std::string source;
  std::int64_t rank = -1, world = 0;  // -1 and 0: neither the trace nor its name says
  std::string host;                   // empty: its name does not say
  std::uint64_t events = 0, activities = 0;
  TimeShares time;
  std::vector<StepFacts> steps;
  std::vector<std::string> texts;
  std::vector<Collective> collectives;  // those that all of a group take part in, as launched
};

// From distributedInfo, else from the name of a file: rank7.json, rank-34.Jul, worker3_step_12, rank0of8,
// r3-2025-11-18.json. A name without a rank may have the host: node7_4242.1694128201549.pt.trace.json, as
// PyTorch's handler for TensorBoard writes it.
struct RankIdentity {
  std::int64_t rank = -1, world = 0;
  std::string host;
};
RankIdentity rank_identity(const TraceSummary& summary, std::string_view source_name);

RankFacts reduce_rank(const Examined& examined, const std::string& source_name);

inline ReadOptions lenient_reading() {
  ReadOptions options;
  options.reading = Reading::Lenient;
  return options;
}
RankFacts reduce_rank(ByteSource& source, const ReadOptions& options = lenient_reading());

}  // namespace pel::doctor

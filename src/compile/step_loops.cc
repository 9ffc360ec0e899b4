#include "compile/step_loops.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"

namespace pel::compiler {
namespace {

std::string reason_of(const CompileExplanation::Threads& threads) {
  if (threads.loops == 0)
    return fmt::format("less than {} of work, or none that can be split", readable_ns(2 * Grain::kUnitNs));
  const std::string loops = threads.loops == 1 ? "" : fmt::format("{} loops, ", threads.loops);
  if (threads.work_ns == 0) return fmt::format("{}{} pieces, each worth a thread", loops, threads.pieces);
  const std::string work = readable_ns(threads.work_ns) + " of work";
  if (threads.count > 1) return fmt::format("{} in {}{} pieces", work, loops, threads.pieces);
  return fmt::format("{}{}; a worker is woken for a share of {} or more{}", loops, work,
                     readable_ns(kNsToWake),
                     threads.count_if_awake == 1
                         ? ""
                         : fmt::format("; {} threads if workers still spin", threads.count_if_awake));
}

}  // namespace

CompileExplanation::Threads threads_of(const std::vector<StepLoop>& loops, std::size_t step) {
  const int all = usable_threads();
  CompileExplanation::Threads threads;
  threads.count = threads.count_if_awake = 1;
  bool has_whole = false;
  for (const StepLoop& loop : loops) {
    if (loop.step != step) continue;
    const LoopSplit split = split_of(loop.count, loop.grain, all, 0);
    threads.count = std::max(threads.count, split.threads);
    threads.count_if_awake =
        std::max(threads.count_if_awake, split_of(loop.count, loop.grain, all, all - 1).threads);
    ++threads.loops;
    threads.pieces += split.pieces;
    has_whole |= loop.grain.is_whole();
    threads.work_ns += loop.grain.is_whole() ? 0 : loop.grain.nanoseconds(loop.count);
  }
  if (has_whole) threads.work_ns = 0;
  threads.reason = reason_of(threads);
  return threads;
}

}  // namespace pel::compiler

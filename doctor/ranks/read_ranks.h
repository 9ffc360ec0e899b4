// Reads the traces of many ranks in parallel and reduces each to what a comparison needs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "doctor/ranks/rank_facts.h"

namespace pel::doctor {

struct RanksOptions {
  ReadOptions read = lenient_reading();
  // Traces in memory at one time; 0: as many as there are cores. One takes about half the bytes of its JSON.
  std::size_t max_at_once = 0;
  // Both are called by the threads that read, with the place of the source.
  std::function<void(std::size_t, const SourceProgress&)> progress;
  std::function<void(std::size_t, const Examined&, const RankFacts&)> see;  // before the trace is forgotten
};

using OpenRank = FunctionRef<std::unique_ptr<ByteSource>(std::size_t)>;  // is called by several threads

// In the order of the sources. The first that cannot be read is an error that names it.
std::vector<RankFacts> read_ranks(std::size_t count, OpenRank open, const RanksOptions& options = {});
std::vector<RankFacts> read_ranks(std::span<const std::string> paths, const RanksOptions& options = {});

}  // namespace pel::doctor

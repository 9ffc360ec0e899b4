#include "doctor/ranks/read_ranks.h"

#include "doctor/diagnosis/examination.h"
#include "doctor/model/run_in_parallel.h"

namespace pel::doctor {

std::vector<RankFacts> read_ranks(std::size_t count, OpenRank open, const RanksOptions& options) {
  std::vector<RankFacts> ranks(count);
  run_in_parallel(count, options.max_at_once, [&](std::size_t i) {
    ReadOptions read = options.read;
    if (count > 1) read.parsing = Parsing::OnCallersThread;  // each core has a trace of its own
    if (options.progress)
      read.progress = [&, i](const SourceProgress& progress) { options.progress(i, progress); };
    const std::unique_ptr<ByteSource> source = open(i);
    const Examination examination(*source, read);
    ranks[i] = reduce_rank(examination.examined(), source->name());
    if (options.see) options.see(i, examination.examined(), ranks[i]);
  });
  return ranks;
}

std::vector<RankFacts> read_ranks(std::span<const std::string> paths, const RanksOptions& options) {
  return read_ranks(paths.size(), [&](std::size_t i) { return open_source(paths[i]); }, options);
}

}  // namespace pel::doctor

// What fusing chains of kernels would save, and what keeps a step out of a CUDA graph.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/capture.h"
#include "doctor/analyses/shared.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

std::string sizes_text(const Sizes& sizes) { return fmt::format("{}", fmt::join(sizes, "x")); }

}  // namespace

std::optional<Finding> analyse_chains(const Examined& examined) {
  const std::shared_ptr<const FoundChains> found = chains_of(examined);
  const FoundChains& chains = *found;
  const bool is_on_host = chains.is_on_host;
  const std::int64_t busy = chains.whole_ns;
  if (chains.kinds.empty()) return std::nullopt;
  std::int64_t kernels = 0;
  SaturatingSum ns;
  double saved_bytes = 0, saved_ns = 0;
  bool has_shapes = true;
  for (const auto& [kind, sum] : chains.kinds) {
    kernels += sum.kernels * sum.count;
    ns += sum.ns;
    saved_bytes += sum.saved_bytes;
    saved_ns += sum.saved_ns();
    has_shapes &= sum.has_shapes;
  }
  Finding finding{.key = "chains", .title = "Chains that could be fused"};
  finding.facts = {
      {"kernels", is_on_host ? "ops in chains" : "kernels in chains", kernels, Unit::Count},
      {"time_ns", "time", ns, Unit::Nanoseconds},
      {"share", is_on_host ? "of op time" : "of busy time", percent_of(ns, busy), Unit::Percent},
      {"saved_bytes", "memory traffic saved", saturating_cast(saved_bytes), Unit::Bytes},
      {"saved_ns", "time saved (estimate)", saturating_cast(saved_ns), Unit::Nanoseconds},
      {"saved", is_on_host ? "of op time" : "of busy time", percent_of(saturating_cast(saved_ns), busy),
       Unit::Percent},
  };
  if (!has_shapes)
    finding.sentences.emplace_back(
        "Some ops have no shapes, so links are guessed and bytes are not known: record with "
        "profile(record_shapes=True).");
  if (const auto blocking = capture_blockers(examined); !is_on_host && !blocking.empty())
    finding.sentences.push_back(fmt::format("A CUDA graph of the step cannot be captured because of: {}.",
                                            fmt::join(blocking, ", ")));
  Table table{.key = "chains",
              .title = "by time saved",
              .columns = {{"saved_ns", "saved", Unit::Nanoseconds},
                          {"saved_bytes", "bytes saved", Unit::Bytes},
                          {"time_ns", "of", Unit::Nanoseconds},
                          {"count", "times", Unit::Count},
                          {"kernels", is_on_host ? "length" : "kernels", Unit::Count},
                          {"ops", "ops", Unit::None, true},
                          {"sizes", "sizes"},
                          {"answer", "remedy"}},
              .rows = {}};
  const std::int64_t pace_ns = is_on_host ? 0
                                          : examined.time.all().total() /
                                                static_cast<std::int64_t>(examined.model.activities().size());
  for (const auto& [kind, sum] : by_largest(chains.kinds, [](const ChainSum& s) { return s.saved_ns(); })) {
    // Where the host cannot launch kernels as fast as they run, a graph helps more than fusion does.
    const bool is_tiny = chains.is_starved && sum->ns / (sum->count * sum->kernels) < pace_ns;
    table.rows.push_back({saturating_cast(sum->saved_ns()),
                          sum->moved_bytes == 0 ? Value() : Value(saturating_cast(sum->saved_bytes)), sum->ns,
                          sum->count, sum->kernels, chain_text(examined.model, *kind),
                          sizes_text(kind->results.back()),
                          std::string(is_tiny        ? "graph"
                                      : sum->is_norm ? "tuned kernel, compile"
                                                     : "compile")});
  }
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor

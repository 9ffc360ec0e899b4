// Functions that torch.compile compiled more than once, and the time of guard lookups.
#include <fmt/format.h>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/compiled_regions.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct RegionSum {
  std::int64_t calls = 0, max_compile = 0;
  SaturatingSum ns;
  std::map<std::int64_t, std::int64_t> compiles;  // by number, how often each ran
};

}  // namespace

std::optional<Finding> analyse_recompiles(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  std::map<std::int64_t, RegionSum> frames;
  std::int64_t lookups = 0, unnumbered = 0;
  SaturatingSum lookup_ns, compiling_ns;
  for (const RowId row : model.host_rows()) {
    std::int64_t compiling_until = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : model.of_row(row)) {
      if (events.is_call(e)) continue;
      const std::string_view name = events.name(e);
      if (name == kGuardLookup) {
        ++lookups;
        lookup_ns += events.duration_ns(e);
      } else if (const auto region = compiled_region(name)) {
        RegionSum& frame = frames[region->first];
        ++frame.calls;
        frame.ns += events.duration_ns(e);
        frame.max_compile = std::max(frame.max_compile, region->second);
        ++frame.compiles[region->second];
      } else if (name == "Torch-Compiled Region") {
        ++unnumbered;
      } else if (events.begin_ns(e) >= compiling_until && compiles_code(name)) {
        compiling_ns += events.duration_ns(e);
        compiling_until = events.end_ns(e);
      }
    }
  }
  if (lookups == 0 && frames.empty() && unnumbered == 0 && compiling_ns == 0) return std::nullopt;
  std::int64_t recompiled = 0, regions = unnumbered;
  for (const auto& [number, frame] : frames) {
    recompiled += frame.max_compile > 0 ? 1 : 0;
    regions += frame.calls;
  }
  Finding finding{.key = "recompiles", .title = "Compiled code"};
  finding.facts = {
      {"regions", "calls of compiled code", regions, Unit::Count},
      {"lookups", "guard lookups", lookups, Unit::Count},
      {"lookup_ns", "lookup time", lookup_ns, Unit::Nanoseconds},
      {"recompiled_frames", "recompiled functions", recompiled, Unit::Count},
      {"compiling_ns", "compile time in this trace", compiling_ns, Unit::Nanoseconds},
  };
  if (recompiled != 0)
    finding.sentences.emplace_back(
        "A function was recompiled for other inputs: mark the dimensions that change with "
        "torch._dynamo.mark_dynamic. TORCH_LOGS=recompiles prints the reasons, which a trace does not have.");
  if (frames.empty()) return finding;
  Table table{.key = "functions",
              .title = "functions",
              .columns = {{"frame", "function", Unit::Count},
                          {"compiles", "compiles seen", Unit::Count},
                          {"highest", "highest number", Unit::Count},
                          {"calls", "calls", Unit::Count},
                          {"time_ns", "host time", Unit::Nanoseconds}},
              .rows = {}};
  for (const auto& [number, frame] : by_largest(frames, [](const RegionSum& f) { return f.ns; }))
    table.rows.push_back({*number, static_cast<std::int64_t>(frame->compiles.size()), frame->max_compile,
                          frame->calls, frame->ns});
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor

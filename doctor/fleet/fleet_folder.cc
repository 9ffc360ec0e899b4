#include "doctor/fleet/fleet_folder.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/fleet/columns.h"
#include "doctor/fleet/rank_rows.h"
#include "doctor/fleet/rank_tables.h"
#include "doctor/fleet/storage.h"
#include "doctor/fleet/table_reader.h"
#include "doctor/fleet/table_writer.h"
#include "doctor/ranks/aligned_ranks.h"

namespace pel::fleet {
namespace {

struct ToldBefore {
  std::string source;
  std::int64_t base_ns = 0, events = 0;
};
// Nothing: there is no meta that can be read.
std::optional<ToldBefore> meta_of(const std::string& path) {
  static constexpr FleetColumn kColumns[] = {{"source", ColumnKind::Text}, {"base_ns"}, {"events"}};
  try {
    TableReader table(path, kColumns);
    if (!table.next() || table.rows()[0].values.empty()) return {};
    const std::span<const ColumnRows> rows = table.rows();
    return ToldBefore{rows[0].texts.at(static_cast<std::size_t>(rows[0].values[0])), rows[1].values[0],
                      rows[2].values[0]};
  } catch (const FileError&) {
    return {};
  }
}

}  // namespace

bool can_write_parquet() { return find_parquet_module() != nullptr; }

FleetFolder::FleetFolder(std::string folder, FleetOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

std::string FleetFolder::folder_of(std::int64_t rank) const {
  return path_in(folder_, fmt::format("rank={}", rank));
}

void FleetFolder::claim(const std::string& folder, const Added& added) const {
  make_folder(folder);
  if (files_in(folder).empty()) return;
  const std::string meta = path_in(folder, "meta.parquet");
  if (options_.replace == Replace::IfSameTrace) {
    const std::optional<ToldBefore> before = meta_of(meta);
    PEL_CHECK(before.has_value(), FileError,
              "{} has tables that were not finished, or are being written: give --replace to replace them",
              folder);
    // Two traces that are not the same may have one name, on two hosts.
    const doctor::RankFacts& facts = added.facts;
    PEL_CHECK(before->source == facts.source && before->base_ns == added.base_ns &&
                  before->events == static_cast<std::int64_t>(facts.events),
              FileError,
              "{} has the tables of another trace, {} of {} events, and {} has {}: give --rank with the rank "
              "of the trace, or --replace to replace the tables",
              folder, before->source, before->events, facts.source, facts.events);
  }
  remove_file(meta);  // until it is written again, the rank is not whole
}

void FleetFolder::add(const doctor::Examined& examined, const doctor::RankFacts& facts) {
  const std::int64_t rank = options_.rank < 0 ? facts.rank : options_.rank;
  PEL_CHECK(
      rank >= 0, FileError,
      "{} does not say its rank, in distributedInfo or by its name: give --rank, with one trace at a time, "
      "or name the files rank0.json, rank1.json, …",
      facts.source);
  const doctor::Model& model = examined.model;
  const std::string folder = folder_of(rank);
  {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = ranks_.try_emplace(rank);
    PEL_CHECK(is_new, FileError, "{} and {} are both of rank {}: give one trace per rank of one run",
              at->second.facts.source, facts.source, rank);
    const doctor::DeviceProperties* device =
        model.activities().empty() ? nullptr : model.device(model.activities().front().device);
    at->second = {.base_ns = base_ns(examined),
                  .spans = static_cast<std::int64_t>(model.events().size()),
                  .activities_without_launch = static_cast<std::int64_t>(model.activities_without_launch()),
                  .device = device == nullptr ? "" : device->name,
                  .facts = facts};
    claim(folder, at->second);
  }
  write_rank_tables(folder, examined, facts);
}

FleetSize FleetFolder::finish() {
  std::vector<doctor::RankFacts> facts;  // by number, as --ranks has them
  for (auto& [rank, added] : ranks_) facts.push_back(std::move(added.facts));
  const doctor::AlignedRanks aligned = align_ranks(facts);
  FleetSize size;
  std::size_t i = 0;
  for (const auto& [rank, added] : ranks_) {
    const doctor::RankFacts& own = facts[i];
    const doctor::ClockFit& clock = aligned.clocks[i++];
    const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    TableWriter out(path_in(folder_of(rank), "meta.parquet"), meta_columns());
    const auto text_or_none = [&](const std::string& text) { text.empty() ? out.none() : out.text(text); };
    out.number(kSchemaVersion);
    own.world == 0 ? out.none() : out.number(own.world);
    out.text(own.source);
    text_or_none(options_.labels.job);
    text_or_none(options_.labels.host.empty() ? own.host : options_.labels.host);
    text_or_none(options_.labels.commit);
    text_or_none(added.device);
    out.number(added.base_ns).number(count(own.events)).number(added.spans).number(count(own.activities));
    out.number(added.activities_without_launch).number(own.time.total()).number(own.time.busy_ns);
    out.number(own.time.communication_ns);
    for (const std::int64_t ns : own.time.idle_ns) out.number(ns);
    put_clock(out, clock);
    out.end_row();
    out.close();
    ++size.ranks;
    size.events += own.events;
    for (const StoredFile& file : files_in(folder_of(rank))) size.bytes += file.bytes;
  }
  return size;
}

}  // namespace pel::fleet

#include "doctor/fleet/fleet_folder.h"

#include <array>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/fleet/rank_tables.h"
#include "doctor/fleet/table_writer.h"
#include "doctor/ranks/aligned_ranks.h"

namespace pel::fleet {
namespace {

constexpr FleetColumn kMeta[] = {{"schema_version"},
                                 {"world", ColumnKind::Number, Packing::Differences, Nulls::Yes},
                                 {"source", ColumnKind::Text},
                                 {"job", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
                                 {"host", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
                                 {"commit", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
                                 {"device", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
                                 {"base_ns"},
                                 {"events"},
                                 {"spans"},
                                 {"activities"},
                                 {"activities_without_launch"},
                                 {"device_ns"},
                                 {"busy_ns"},
                                 {"exposed_ns"},
                                 {"clock_group", ColumnKind::Number, Packing::Differences, Nulls::Yes},
                                 {"clock_offset_ns", ColumnKind::Number, Packing::Differences, Nulls::Yes},
                                 {"clock_origin_ns", ColumnKind::Number, Packing::Differences, Nulls::Yes},
                                 {"clock_drift", ColumnKind::Decimal, Packing::Differences, Nulls::Yes},
                                 {"clock_spread_ns", ColumnKind::Number, Packing::Differences, Nulls::Yes}};

}  // namespace

bool can_write_parquet() { return find_parquet_module() != nullptr; }

FleetFolder::FleetFolder(std::string folder, FleetOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

std::string FleetFolder::folder_of(std::int64_t rank) const {
  return fmt::format("{}/rank={}", folder_, rank);
}

void FleetFolder::claim(const std::string& folder, const Added& added) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const bool is_new = !error && std::filesystem::create_directory(folder, error);
  PEL_CHECK(!error, FileError, "{} cannot be created: {}", folder, error.message());
  if (is_new || std::filesystem::is_empty(folder, error)) return;
  const std::string meta = folder + "/meta.parquet";
  if (options_.replace == Replace::IfSameTrace) {
    // Two traces that are not the same may have one name, on two hosts.
    static constexpr std::array<std::string_view, 3> kColumns{"source", "base_ns", "events"};
    std::vector<std::string> values;
    std::string unread;
    find_parquet_module()->read_row(meta, kColumns, values, unread);
    PEL_CHECK(unread.empty(), FileError,
              "{} has tables that were not finished, or are being written: give --replace to replace them",
              folder);
    const doctor::RankFacts& facts = added.facts;
    PEL_CHECK(values[0] == facts.source && values[1] == std::to_string(added.base_ns) &&
                  values[2] == std::to_string(facts.events),
              FileError,
              "{} has the tables of another trace, {} of {} events, and {} has {}: give --rank with the rank "
              "of the "
              "trace, or --replace to replace the tables",
              folder, values[0], values[2], facts.source, facts.events);
  }
  std::filesystem::remove(meta, error);  // until it is written again, the rank is not whole
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
    TableWriter out(folder_of(rank) + "/meta.parquet", kMeta);
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
    if (clock.is_known) {
      out.number(clock.component).number(clock.offset_ns).number(clock.origin_ns).decimal(clock.drift);
      out.number(clock.spread_ns);
    } else {
      out.none().none().none().none().none();
    }
    out.end_row();
    out.close();
    ++size.ranks;
    size.events += own.events;
    for (const auto& file : std::filesystem::directory_iterator(folder_of(rank)))
      size.bytes += file.file_size();
  }
  return size;
}

}  // namespace pel::fleet

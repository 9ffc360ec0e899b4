#include "doctor/fleet/fleet_folder.h"

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
                                 {"place"},
                                 {"world", ColumnKind::Number, Packing::Differences, Nulls::Yes},
                                 {"source", ColumnKind::Text},
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

FleetFolder::FleetFolder(std::string folder) : folder_(std::move(folder)) {}

std::string FleetFolder::folder_of(std::int64_t rank) const {
  return fmt::format("{}/rank={}", folder_, rank);
}

void FleetFolder::add(std::size_t place, const doctor::Examined& examined, const doctor::RankFacts& facts) {
  const std::int64_t rank = facts.rank < 0 ? static_cast<std::int64_t>(place) : facts.rank;
  const doctor::Model& model = examined.model;
  {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = ranks_.try_emplace(rank);
    PEL_CHECK(is_new, FileError, "{} and {} are both of rank {}: give one trace per rank of one run",
              at->second.facts.source, facts.source, rank);
    const doctor::DeviceProperties* device =
        model.activities().empty() ? nullptr : model.device(model.activities().front().device);
    at->second = {.place = place,
                  .base_ns = base_ns(examined),
                  .spans = static_cast<std::int64_t>(model.events().size()),
                  .activities_without_launch = static_cast<std::int64_t>(model.activities_without_launch()),
                  .device = device == nullptr ? "" : device->name,
                  .facts = facts};
  }
  const std::string folder = folder_of(rank);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  PEL_CHECK(!error, FileError, "{} cannot be created: {}", folder, error.message());
  write_rank_tables(folder, examined, facts);
}

FleetSize FleetFolder::finish() {
  // In the order in which traces were given, as --ranks has them.
  std::map<std::size_t, std::int64_t> by_place;
  for (const auto& [rank, added] : ranks_) by_place.emplace(added.place, rank);
  std::vector<doctor::RankFacts> facts;
  for (const auto& [place, rank] : by_place) facts.push_back(std::move(ranks_[rank].facts));
  const doctor::AlignedRanks aligned = align_ranks(facts);
  FleetSize size;
  std::size_t i = 0;
  for (const auto& [place, rank] : by_place) {
    const Added& added = ranks_[rank];
    const doctor::RankFacts& own = facts[i];
    const doctor::ClockFit& clock = aligned.clocks[i++];
    const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    TableWriter out(folder_of(rank) + "/meta.parquet", kMeta);
    out.number(kSchemaVersion).number(count(place));
    own.world == 0 ? out.none() : out.number(own.world);
    out.text(own.source);
    added.device.empty() ? out.none() : out.text(added.device);
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

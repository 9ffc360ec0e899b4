// The columns of the tables; doctor/docs/fleet.md describes them. A rank has one table of each kind. A packed
// job has the same, with a column `rank` in front, and `meetings`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "doctor/fleet/parquet_file.h"

namespace pel::fleet {

// FNV-1a: a text has the same number in all ranks and runs.
constexpr std::int64_t text_number(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash);
}

inline constexpr FleetColumn kStepColumn = {"step", ColumnKind::Text, Packing::Dictionary, Nulls::Yes};
inline constexpr FleetColumn kOpColumn = {"op_id", ColumnKind::Number, Packing::Dictionary, Nulls::Yes};

inline constexpr FleetColumn kEventColumns[] = {
    {"event"},
    {"category", ColumnKind::Text},
    {"name_id", ColumnKind::Number, Packing::Dictionary},
    {"process", ColumnKind::Text},
    {"thread", ColumnKind::Text},
    {"device", ColumnKind::Number, Packing::Dictionary, Nulls::Yes},
    {"stream", ColumnKind::Number, Packing::Dictionary, Nulls::Yes},
    kStepColumn,
    {"begin_ns"},
    {"duration_ns", ColumnKind::Number, Packing::Plain},
    {"bytes", ColumnKind::Number, Packing::Dictionary, Nulls::Yes}};

inline constexpr FleetColumn kLaunchColumns[] = {
    {"call"},
    {"activity", ColumnKind::Number, Packing::Differences, Nulls::No, "work"},
    kOpColumn,
    kStepColumn,
    {"delay_ns", ColumnKind::Number, Packing::Plain}};

inline constexpr FleetColumn kGapColumns[] = {
    {"device", ColumnKind::Number, Packing::Dictionary},
    {"begin_ns"},
    {"duration_ns", ColumnKind::Number, Packing::Plain},
    {"cause", ColumnKind::Text},
    {"next_activity", ColumnKind::Number, Packing::Differences, Nulls::No, "next_work"},
    {"blame", ColumnKind::Number, Packing::Differences, Nulls::Yes},
    kStepColumn};

inline constexpr FleetColumn kSyncColumns[] = {{"event"},
                                               {"name_id", ColumnKind::Number, Packing::Dictionary},
                                               kOpColumn,
                                               {"is_copy", ColumnKind::Flag},
                                               kStepColumn,
                                               {"begin_ns"},
                                               {"waited_ns", ColumnKind::Number, Packing::Plain},
                                               {"idle_ns", ColumnKind::Number, Packing::Plain}};

inline constexpr FleetColumn kFactColumns[] = {
    kStepColumn,
    kOpColumn,
    {"name_id", ColumnKind::Number, Packing::Dictionary},
    {"category", ColumnKind::Text},
    {"device", ColumnKind::Number, Packing::Dictionary},
    {"stream", ColumnKind::Number, Packing::Dictionary},
    {"activities", ColumnKind::Number, Packing::Dictionary, Nulls::No, "works"},
    {"device_ns", ColumnKind::Number, Packing::Plain},
    {"shortest_ns", ColumnKind::Number, Packing::Plain},
    {"longest_ns", ColumnKind::Number, Packing::Plain},
    {"exposed_ns", ColumnKind::Number, Packing::Plain},
    {"launch_ns", ColumnKind::Number, Packing::Plain},
    {"delay_ns", ColumnKind::Number, Packing::Plain},
    {"bytes", ColumnKind::Number, Packing::Dictionary}};

inline constexpr FleetColumn kNameColumns[] = {{"name_id", ColumnKind::Number, Packing::Plain},
                                               {"name", ColumnKind::Text},
                                               {"family", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
                                               {"title", ColumnKind::Text, Packing::Dictionary, Nulls::Yes}};

// `job` is the fourth: the folder of a packed job says it instead.
inline constexpr std::size_t kJobOfMeta = 3;
// Before those of clocks there is one for each IdleCause, `idle_input_ns`, null in tables that were written
// before these columns existed.
std::span<const FleetColumn> meta_columns();

// The last ones are times before the collective, one for each TimesBefore.
std::span<const FleetColumn> collective_columns();

inline constexpr FleetColumn kMeetingColumns[] = {
    {"meeting", ColumnKind::Number, Packing::Plain},
    {"process_group", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
    {"collective", ColumnKind::Text},
    kStepColumn,
    {"is_numbered", ColumnKind::Flag},
    {"number"},
    {"bytes", ColumnKind::Number, Packing::Dictionary, Nulls::Yes},
    {"ranks", ColumnKind::Number, Packing::Dictionary},
    {"late"},
    {"late_host", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
    {"arrived_ns"},
    {"typical_ns", ColumnKind::Number, Packing::Plain},
    {"alone_ns", ColumnKind::Number, Packing::Plain},
    {"all_ns", ColumnKind::Number, Packing::Plain},
    {"cause", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
    {"is_first", ColumnKind::Flag}};

}  // namespace pel::fleet

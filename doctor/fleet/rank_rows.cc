#include "doctor/fleet/rank_rows.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/fleet/columns.h"
#include "doctor/fleet/table_reader.h"
#include "doctor/model/saturating.h"

namespace pel::fleet {
namespace {

using doctor::Collective;

// The columns before TimesBefore, in the order of the table.
enum Place : std::size_t {
  kCall,
  kEvent,
  kGroup,
  kCollective,
  kStep,
  kIsNumbered,
  kNumber,
  kGroupSize,
  kBytes,
  kIsFirst,
  kSince,
  kBegin,
  kEnd,
  kActivitiesBefore,
  kBefore,
};

// The places of a table's texts among those of the facts.
class TextsOf {
 public:
  explicit TextsOf(std::vector<std::string>& texts) : texts_(texts) {
    for (const std::string& text : texts_) ids_.emplace(text, static_cast<std::uint32_t>(ids_.size()));
    add("");
  }
  std::uint32_t add(const std::string& text) {
    const auto [at, is_new] = ids_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

// idle_dispatch_ns, idle_sync_ns, … for each cause.
std::vector<std::string> columns_of_causes(std::string_view prefix) {
  std::vector<std::string> columns;
  for (std::size_t cause = 0; cause < doctor::kIdleCauseCount; ++cause) {
    std::string word(name(static_cast<doctor::IdleCause>(cause)));
    std::replace(word.begin(), word.end(), ' ', '_');
    columns.push_back(fmt::format("{}_{}_ns", prefix, word));
  }
  return columns;
}

}  // namespace

std::span<const FleetColumn> meta_columns() {
  static const std::vector<std::string> idle = columns_of_causes("idle");
  static const std::vector<FleetColumn> columns = [] {
    constexpr auto kNumbers = ColumnKind::Number;
    constexpr auto kTexts = ColumnKind::Text;
    constexpr auto kGrowing = Packing::Differences;
    constexpr auto kFew = Packing::Dictionary;
    std::vector<FleetColumn> all = {
        {"schema_version"},
        {"world", kNumbers, kGrowing, Nulls::Yes},
        {"source", kTexts},
        {"job", kTexts, kFew, Nulls::Yes},
        {"host", kTexts, kFew, Nulls::Yes},
        {"commit", kTexts, kFew, Nulls::Yes},
        {"device", kTexts, kFew, Nulls::Yes},
        {"base_ns"},
        {"events"},
        {"spans"},
        {"activities", kNumbers, kGrowing, Nulls::No, "works"},
        {"activities_without_launch", kNumbers, kGrowing, Nulls::No, "works_without_launch"},
        {"device_ns"},
        {"busy_ns"},
        {"exposed_ns"}};
    for (const std::string& name : idle) all.push_back({name, kNumbers, Packing::Plain, Nulls::Yes});
    for (const std::string_view name : {"clock_group", "clock_offset_ns", "clock_origin_ns"})
      all.push_back({name, kNumbers, kGrowing, Nulls::Yes});
    all.push_back({"clock_drift", ColumnKind::Decimal, kGrowing, Nulls::Yes});
    all.push_back({"clock_spread_ns", kNumbers, kGrowing, Nulls::Yes});
    return all;
  }();
  return columns;
}

std::span<const FleetColumn> collective_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> before = {"before_kernels_ns", "before_communication_ns"};
    std::ranges::move(columns_of_causes("before"), std::back_inserter(before));
    return before;
  }();
  static const std::vector<FleetColumn> columns = [] {
    constexpr auto kNumbers = ColumnKind::Number;
    std::vector<FleetColumn> all = {
        {"call"},
        {"event"},
        {"process_group", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
        {"collective", ColumnKind::Text},
        kStepColumn,
        {"is_numbered", ColumnKind::Flag},
        {"number"},
        {"group_size", kNumbers, Packing::Dictionary, Nulls::Yes},
        {"bytes", kNumbers, Packing::Dictionary, Nulls::Yes},
        {"is_first", ColumnKind::Flag},
        {"since_ns"},
        {"begin_ns"},
        {"end_ns"},
        {"activities_before", kNumbers, Packing::Dictionary, Nulls::No, "works_before"}};
    for (const std::string& name : names) all.push_back({name, kNumbers, Packing::Plain});
    return all;
  }();
  return columns;
}

void put_collective(TableWriter& out, const doctor::RankFacts& facts, const Collective& one,
                    std::int64_t event, std::int64_t base_ns) {
  const auto text_or_none = [&](std::uint32_t id) {
    facts.texts[id].empty() ? out.none() : out.text(facts.texts[id]);
  };
  out.number(event);
  text_or_none(one.group);
  out.text(facts.texts[one.name]);
  text_or_none(one.step);
  out.flag(one.is_numbered).number(one.index);
  one.ranks == 0 ? out.none() : out.number(one.ranks);
  one.bytes < 0 ? out.none() : out.number(one.bytes);
  out.flag(one.is_first);
  for (const std::int64_t ns : {one.since_ns, one.begin_ns, one.end_ns}) out.number(ns - base_ns);
  out.number(one.kernels);
  for (const float ns : one.before) out.number(static_cast<std::int64_t>(ns));
}

void read_collectives(const std::string& path, std::int64_t base_ns, doctor::RankFacts& facts) {
  // As reduce_rank() bounds them: then no difference of two overflows.
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 4;
  TextsOf texts(facts.texts);
  TableReader table(path, collective_columns());
  while (table.next()) {
    const std::span<const ColumnRows> columns = table.rows();
    std::vector<std::vector<std::uint32_t>> ids(columns.size());
    for (const std::size_t place : {kGroup, kCollective, kStep})
      for (const std::string& text : columns[place].texts) ids[place].push_back(texts.add(text));
    const std::size_t rows = columns[kCall].values.size();
    facts.collectives.reserve(facts.collectives.size() + rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto number = [&](std::size_t place) { return columns[place].values[row]; };
      const auto number_or = [&](std::size_t place, std::int64_t none) {
        return columns[place].is_there[row] != 0 ? number(place) : none;
      };
      const auto text = [&](std::size_t place) {
        return columns[place].is_there[row] != 0 ? ids[place][static_cast<std::size_t>(number(place))] : 0;
      };
      const auto time = [&](std::size_t place) {
        return std::clamp(doctor::saturating_add(number(place), base_ns), -kLatest, kLatest);
      };
      Collective one;
      one.event = static_cast<doctor::EventId>(number(kEvent));
      one.group = text(kGroup);
      one.name = text(kCollective);
      one.step = text(kStep);
      one.is_numbered = number(kIsNumbered) != 0;
      one.index = number(kNumber);
      one.ranks = static_cast<std::int32_t>(std::clamp<std::int64_t>(number_or(kGroupSize, 0), 0, 1 << 30));
      one.bytes = number_or(kBytes, -1);
      one.is_first = number(kIsFirst) != 0;
      one.since_ns = time(kSince);
      one.begin_ns = time(kBegin);
      one.end_ns = std::max(one.begin_ns, time(kEnd));
      one.kernels = static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(number(kActivitiesBefore), 0, std::numeric_limits<std::uint32_t>::max()));
      for (std::size_t kind = 0; kind < one.before.size(); ++kind)
        one.before[kind] = static_cast<float>(number(kBefore + kind));
      facts.collectives.push_back(one);
    }
  }
}

void put_clock(TableWriter& out, const doctor::ClockFit& clock) {
  if (!clock.is_known) {
    out.none().none().none().none().none();
    return;
  }
  out.number(clock.component).number(clock.offset_ns).number(clock.origin_ns).decimal(clock.drift);
  out.number(clock.spread_ns);
}

}  // namespace pel::fleet

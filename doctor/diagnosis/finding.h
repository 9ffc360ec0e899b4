// The result of an analysis as data: the report prints it for a terminal and writes it as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pel::doctor {

enum class Unit : std::uint8_t {
  None,
  Nanoseconds,
  Bytes,
  BytesPerSecond,
  Flops,
  FlopsPerSecond,
  Percent,
  Count
};

using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;  // monostate: unknown

struct Fact {
  std::string key;    // in JSON: idle_share
  std::string label;  // for people: "idle"
  Value value;
  Unit unit = Unit::None;
};

struct Column {
  std::string key, label;  // without a label it is in JSON alone
  Unit unit = Unit::None;
  bool is_wide = false;  // takes what the other columns leave of a line; its text may be cut
};

struct Table {
  std::string key, title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // the most important first
  std::size_t shown = 5;                 // rows on a terminal; JSON has all
};

// The value of a row in the column of that key; unknown: there is none.
inline Value cell(const Table& table, std::size_t row, std::string_view key) {
  for (std::size_t i = 0; i < table.columns.size() && i < table.rows[row].size(); ++i) {
    if (table.columns[i].key == key) return table.rows[row][i];
  }
  return {};
}

struct Finding {
  std::string key, title;                // "syncs", "Sync points"
  std::vector<std::string> sentences{};  // what it means, and what to do
  std::vector<Fact> facts{};
  std::vector<Table> tables{};
  bool is_asked_for = false;  // by an option: a short report shows it, too
};

}  // namespace pel::doctor

#include "doctor/report/text_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "doctor/report/readable_value.h"

namespace pel::doctor {
namespace {

constexpr int kBetween = 2;  // columns between two of a table
constexpr int kMinWide = 24, kMinText = 8;
constexpr int kBar = 10;

struct TextColumn {
  std::string label;
  std::vector<std::string> cells;
  std::vector<double> shares;  // of a Percent column
  bool is_number = true, is_wide = false, is_bar = false;
  int width = 0;
};

TextColumn text_column(const Table& table, std::size_t index, std::size_t rows) {
  const Column& column = table.columns[index];
  TextColumn text;
  text.label = printable(column.label);
  text.is_wide = column.is_wide;
  text.width = columns_of(text.label);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<Value>& values = table.rows[row];
    static const Value kNone;
    const Value& value = index < values.size() ? values[index] : kNone;
    if (std::holds_alternative<std::string>(value) || std::holds_alternative<bool>(value))
      text.is_number = false;
    text.cells.push_back(readable(value, column.unit));
    if (column.unit == Unit::Percent) text.shares.push_back(number_of(value));
    text.width = std::max(text.width, columns_of(text.cells.back()));
  }
  return text;
}

int width_of(const std::vector<TextColumn>& all) {
  int width = -kBetween;
  for (const TextColumn& column : all) width += column.width + kBetween;
  return width;
}

// The column that can best be narrower, and by how much at most.
std::pair<TextColumn*, int> max_slack(std::vector<TextColumn>& all) {
  std::pair<TextColumn*, int> best{nullptr, 0};
  for (const bool is_wide : {true, false}) {
    for (TextColumn& column : all) {
      if (column.is_number || column.is_bar || column.is_wide != is_wide) continue;
      const int slack = column.width - (is_wide ? kMinWide : kMinText);
      if (slack > best.second) best = {&column, slack};
    }
    if (best.first != nullptr) return best;
  }
  return best;
}

void narrow(std::vector<TextColumn>& all, int columns) {
  while (width_of(all) > columns) {
    if (const auto [column, slack] = max_slack(all); column != nullptr) {
      column->width -= std::min(slack, width_of(all) - columns);
    } else if (all.size() > 1) {
      all.pop_back();
    } else {
      all[0].width = columns;
      return;
    }
  }
}

void add_bars(std::vector<TextColumn>& all, int columns) {
  const auto shares = std::ranges::find_if(all, [](const TextColumn& c) { return !c.shares.empty(); });
  if (shares == all.end() || shares->shares.size() < 2) return;
  int least = kBar;  // what must be there: wide columns may be cut
  for (const TextColumn& column : all)
    least += kBetween + (column.is_wide ? std::min(column.width, 2 * kMinWide) : column.width);
  if (least > columns) return;
  TextColumn bars;
  bars.is_number = false;
  bars.is_bar = true;
  bars.width = kBar;
  for (const double share : shares->shares)  // in percent

    bars.cells.push_back(std::isfinite(share) ? bar(share / 100, kBar) : "");
  all.insert(shares + 1, std::move(bars));
}

std::string trimmed_right(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string padded(const TextColumn& column, const std::string& cell) {
  return column.is_number ? pad_left(cell, column.width) : pad_right(cell, column.width);
}

}  // namespace

std::vector<std::string> table_lines(const Table& table, const Terminal& terminal, int columns) {
  const std::size_t rows = std::min(table.rows.size(), table.shown);
  std::vector<TextColumn> all;
  for (std::size_t i = 0; i < table.columns.size(); ++i)  // without a label it is in JSON alone
    if (!table.columns[i].label.empty()) all.push_back(text_column(table, i, rows));
  if (all.empty() || table.rows.empty()) return {};
  add_bars(all, columns);
  narrow(all, columns);

  std::vector<std::string> lines;
  std::string heading;
  for (const TextColumn& column : all) heading += padded(column, column.label) + std::string(kBetween, ' ');
  lines.push_back(terminal.dim(trimmed_right(heading)));
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const TextColumn& column : all) {
      const std::string cell = padded(column, column.cells[row]);
      line += column.is_bar ? terminal.cyan(cell) : cell;
      line += std::string(kBetween, ' ');
    }
    lines.push_back(trimmed_right(std::move(line)));
  }
  if (rows < table.rows.size()) {
    const auto left_out = static_cast<std::int64_t>(table.rows.size() - rows);
    const std::string more =
        fmt::format("… {} more; --top {} shows all", grouped(left_out), table.rows.size());
    lines.push_back(terminal.dim(cut_to(more, columns)));
  }
  return lines;
}

}  // namespace pel::doctor

#include "doctor/fleet/table_writer.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/check.h"
#include "base/utf8.h"
#include "doctor/fleet/storage.h"

namespace pel::fleet {
namespace {

std::string whole_utf8(std::string_view text) {
  std::string whole;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    whole += point.value == kReplacementCharacter ? kReplacementUtf8 : text.substr(at, point.size);
    at += point.size;
  }
  return whole;
}

}  // namespace

TableWriter::TableWriter(std::string path, std::span<const FleetColumn> columns)
    : path_(std::move(path)),
      unfinished_(is_in_store(path_) ? path_ : path_ + ".part"),
      columns_(columns.size()),
      texts_(columns.size()) {
  const ParquetModule* const module = find_parquet_module();
  PEL_ASSERT(module != nullptr, "callers check can_write_parquet() first");
  std::string error;
  file_.reset(module->open(unfinished_, columns, error));
  check(error);
}

TableWriter::~TableWriter() {
  if (file_ == nullptr) return;
  file_.reset();  // without its end the file is none
  if (is_in_store(path_)) return;
  std::error_code ignored;
  std::filesystem::remove(unfinished_, ignored);
}

void TableWriter::check(const std::string& error) const {
  PEL_CHECK(error.empty(), FileError, "{} cannot be written: {}", path_, error);
}

ColumnRows& TableWriter::next(bool is_there) {
  PEL_ASSERT(at_ < columns_.size(), "a row has as many values as columns");
  ColumnRows& column = columns_[at_++];
  column.is_there.push_back(is_there ? 1 : 0);
  return column;
}

TableWriter& TableWriter::number(std::int64_t value) {
  next(true).values.push_back(value);
  return *this;
}
TableWriter& TableWriter::decimal(double value) { return number(std::bit_cast<std::int64_t>(value)); }
TableWriter& TableWriter::text(std::string_view value) { return number(texts_[at_].add(value)); }
TableWriter& TableWriter::none() {
  next(false).values.push_back(0);
  return *this;
}

void TableWriter::end_row() {
  PEL_ASSERT(at_ == columns_.size(), "a row has as many values as columns");
  at_ = 0;
  if (columns_.front().values.size() == kRowsAtOnce) end_group();
}

void TableWriter::append(std::int64_t first, std::span<const ColumnRows> rows) {
  PEL_ASSERT(at_ == 0 && rows.size() + 1 == columns_.size(), "rows have the columns of the table but one");
  const std::size_t all = rows.front().values.size();
  for (std::size_t begin = 0; begin < all;) {
    const std::size_t end = std::min(all, begin + kRowsAtOnce - columns_.front().values.size());
    columns_.front().values.insert(columns_.front().values.end(), end - begin, first);
    columns_.front().is_there.insert(columns_.front().is_there.end(), end - begin, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ColumnRows& from = rows[i];
      ColumnRows& to = columns_[i + 1];
      const auto at = [](const auto& all_of, std::size_t row) {
        return all_of.begin() + static_cast<std::ptrdiff_t>(row);
      };
      to.is_there.insert(to.is_there.end(), at(from.is_there, begin), at(from.is_there, end));
      if (from.texts.empty()) {
        to.values.insert(to.values.end(), at(from.values, begin), at(from.values, end));
        continue;
      }
      std::vector<std::int64_t> ids;
      for (const std::string& text : from.texts) ids.push_back(texts_[i + 1].add(text));
      for (std::size_t row = begin; row < end; ++row)
        to.values.push_back(from.is_there[row] != 0 ? ids[static_cast<std::size_t>(from.values[row])] : 0);
    }
    begin = end;
    if (columns_.front().values.size() == kRowsAtOnce) end_group();
  }
}

void TableWriter::end_group() {
  if (columns_.front().values.empty()) return;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (doctor::NameId id = 0; id < texts_[i].size(); ++id)
      columns_[i].texts.push_back(whole_utf8(texts_[i][id]));
    texts_[i] = doctor::Names();
  }
  check(file_->add(columns_));
  for (ColumnRows& column : columns_) column.clear();
}

void TableWriter::close() {
  end_group();
  check(file_->close());
  file_.reset();
  if (is_in_store(path_)) return;
  std::error_code error;
  std::filesystem::rename(unfinished_, path_, error);
  check(error ? error.message() : "");
}

}  // namespace pel::fleet

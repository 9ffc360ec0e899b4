#include "doctor/fleet/table_writer.h"

#include <bit>
#include <filesystem>

#include "base/check.h"
#include "base/utf8.h"

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
    : path_(std::move(path)), unfinished_(path_ + ".part"), columns_(columns.size()), texts_(columns.size()) {
  const ParquetModule* const module = find_parquet_module();
  PEL_ASSERT(module != nullptr, "callers check can_write_parquet() first");
  std::string error;
  file_.reset(module->open(unfinished_, columns, error));
  check(error);
}

TableWriter::~TableWriter() {
  if (file_ == nullptr) return;
  file_.reset();  // without its end the file is none
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
  if (columns_.front().values.size() == kRowsAtOnce) flush();
}

void TableWriter::flush() {
  if (columns_.front().values.empty()) return;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (doctor::NameId id = 0; id < texts_[i].size(); ++id)
      columns_[i].texts.push_back(whole_utf8(texts_[i][id]));
    texts_[i] = doctor::Names();
  }
  check(file_->add(columns_));
  for (ColumnRows& column : columns_) {
    column.values.clear();
    column.is_there.clear();
    column.texts.clear();
  }
}

void TableWriter::close() {
  flush();
  check(file_->close());
  file_.reset();
  std::error_code error;
  std::filesystem::rename(unfinished_, path_, error);
  check(error ? error.message() : "");
}

}  // namespace pel::fleet

// A table as a Parquet file, written row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/fleet/parquet_file.h"
#include "doctor/model/names.h"

namespace pel::fleet {

class TableWriter {
 public:
  static constexpr std::size_t kRowsAtOnce = std::size_t{1} << 18;  // are in memory, and are one row group

  // The file has its name when it is whole; until close() it ends in ".part". A store has it when it is
  // whole.
  TableWriter(std::string path, std::span<const FleetColumn> columns);
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  ~TableWriter();

  // The values of a row, in the order of the columns.
  TableWriter& number(std::int64_t value);
  TableWriter& flag(bool value) { return number(value ? 1 : 0); }
  TableWriter& decimal(double value);
  TableWriter& text(std::string_view value);  // broken UTF-8 becomes U+FFFD
  TableWriter& none();                        // null
  void end_row();

  // Rows of a table that was read, each after the same first number.
  void append(std::int64_t first, std::span<const ColumnRows> rows);
  void end_group();                                       // what was added since is a row group
  std::uint64_t bytes() const { return file_->bytes(); }  // of row groups that have ended

  void close();

 private:
  ColumnRows& next(bool is_there);
  void check(const std::string& error) const;

  std::string path_, unfinished_;
  std::vector<ColumnRows> columns_;
  std::vector<doctor::Names> texts_;  // by column
  std::size_t at_ = 0;                // the column of the next value
  std::unique_ptr<ParquetFile> file_;
};

}  // namespace pel::fleet

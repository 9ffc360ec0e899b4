// A table that was written as a Parquet file, read by row groups.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doctor/fleet/parquet_file.h"

namespace pel::fleet {

class TableReader {
 public:
  // A FileError says which file cannot be read. Columns that the file does not have are null; one that may
  // not be null is an error.
  TableReader(std::string path, std::span<const FleetColumn> columns);

  // The next row group; false: there is none.
  bool next();
  std::span<const ColumnRows> rows() const { return rows_; }

 private:
  std::string path_;
  std::unique_ptr<ParquetInput> file_;
  std::vector<ColumnRows> rows_;
};

}  // namespace pel::fleet

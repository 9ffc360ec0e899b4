#include "doctor/fleet/table_reader.h"

#include <utility>

#include "base/check.h"

namespace pel::fleet {

TableReader::TableReader(std::string path, std::span<const FleetColumn> columns)
    : path_(std::move(path)), rows_(columns.size()) {
  const ParquetModule* const module = find_parquet_module();
  PEL_ASSERT(module != nullptr, "callers check can_write_parquet() first");
  std::string error;
  file_.reset(module->read(path_, columns, error));
  PEL_CHECK(error.empty(), FileError, "{} cannot be read as a table: {}", path_, error);
}

bool TableReader::next() {
  for (ColumnRows& column : rows_) column.clear();
  std::string error;
  const bool is_there = file_->next(rows_, error);
  PEL_CHECK(error.empty(), FileError, "{} cannot be read as a table: {}", path_, error);
  return is_there;
}

}  // namespace pel::fleet

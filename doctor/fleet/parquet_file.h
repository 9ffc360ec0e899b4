// What writes Parquet: a module with Arrow in it. It is loaded when it is launched, and not linked, because
// libparquet brings a simdjson of its own under the names of ours, and takes 15 ms of each start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pel::fleet {

enum class ColumnKind : std::uint8_t { Number, Flag, Decimal, Text };

// How numbers are stored; texts always by their place in a dictionary.
enum class Packing : std::uint8_t {
  Differences,  // to the number before: times, and numbers that grow
  Dictionary,   // few that come again
  Plain,        // all else: durations
};

enum class Nulls : std::uint8_t { No, Yes };

struct FleetColumn {
  std::string_view name;
  ColumnKind kind = ColumnKind::Number;
  Packing packing = Packing::Differences;
  Nulls nulls = Nulls::No;
};

// Some rows of one column.
struct ColumnRows {
  std::vector<std::int64_t> values;  // of a decimal its bits, of a text its place in `texts`
  std::vector<std::uint8_t> is_there;
  std::vector<std::string> texts;
};

// Each call says what went wrong; empty: nothing did.
class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  virtual std::string add(std::span<const ColumnRows> columns) = 0;  // one row group
  virtual std::string close() = 0;
};

// The caller's to delete; null: the error says why.
using OpenParquet = ParquetFile*(const std::string& path, std::span<const FleetColumn> columns,
                                 std::string& error);

// Some values of the only row of a small file, as text; a null is empty.
using ReadParquetRow = void(const std::string& path, std::span<const std::string_view> columns,
                            std::vector<std::string>& values, std::string& error);

inline constexpr const char* kParquetModule = "libpellucid_parquet.so";
inline constexpr const char* kOpenParquet = "pellucid_open_parquet";         // an OpenParquet, in the module
inline constexpr const char* kReadParquetRow = "pellucid_read_parquet_row";  // a ReadParquetRow
inline constexpr std::int64_t kSchemaVersion = 2;

struct ParquetModule {
  OpenParquet* open = nullptr;
  ReadParquetRow* read_row = nullptr;
};
const ParquetModule* find_parquet_module();  // null: it is not there, or what it needs is not

}  // namespace pel::fleet

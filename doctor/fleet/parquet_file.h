// What writes Parquet and reads it: a module with Arrow in it. It is loaded when it is needed, and not
// linked, because libparquet brings a simdjson of its own under the names of ours, and takes 15 ms of each
// start.
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
  std::string_view name_in_1{};  // in tables of version 1, if it was another
};

// Some rows of one column.
struct ColumnRows {
  std::vector<std::int64_t> values;  // of a decimal its bits, of a text its position in `texts`
  std::vector<std::uint8_t> is_there;
  std::vector<std::string> texts;

  void clear() {
    values.clear();
    is_there.clear();
    texts.clear();
  }
};

// Each call says what went wrong; empty: nothing did. What is not closed is not whole: of this machine it has
// no end, and an object store does not have it at all.
class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  virtual std::string add(std::span<const ColumnRows> columns) = 0;  // one row group
  virtual std::string close() = 0;
  virtual std::uint64_t bytes() const = 0;  // written so far
};

// The caller's to delete; null: the error says why.
using OpenParquet = ParquetFile*(const std::string& path, std::span<const FleetColumn> columns,
                                 std::string& error);

// A file that is read, one row group after the other.
class ParquetInput {
 public:
  virtual ~ParquetInput() = default;
  // Fills columns that are empty; false: there are no more rows.
  virtual bool next(std::span<ColumnRows> columns, std::string& error) = 0;
};

// Likewise. A column that the file does not have is null in each row, or an error if it may not be null.
using ReadParquet = ParquetInput*(const std::string& path, std::span<const FleetColumn> columns,
                                  std::string& error);

// What an object store has in a folder. Paths there begin with s3://.
struct StoredFile {
  std::string name;
  std::uint64_t bytes = 0;
};
// Each says what went wrong. A folder that is not there has no files.
using ListStored = std::string(const std::string& folder, std::vector<StoredFile>& files);
using RemoveStored = std::string(const std::string& path);

inline constexpr const char* kParquetModule = "libpellucid_parquet.so";
inline constexpr const char* kOpenParquet = "pellucid_open_parquet";    // an OpenParquet, in the module
inline constexpr const char* kReadParquet = "pellucid_read_parquet";    // a ReadParquet
inline constexpr const char* kListStored = "pellucid_list_stored";      // a ListStored
inline constexpr const char* kRemoveStored = "pellucid_remove_stored";  // a RemoveStored
inline constexpr std::int64_t kSchemaVersion = 2;

struct ParquetModule {
  OpenParquet* open = nullptr;
  ReadParquet* read = nullptr;
  ListStored* list = nullptr;
  RemoveStored* remove = nullptr;
};
const ParquetModule* find_parquet_module();  // null: it is not there, or what it needs is not

}  // namespace pel::fleet

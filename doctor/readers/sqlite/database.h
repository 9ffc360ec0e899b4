// A SQLite database that is only read, and may be damaged or hostile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/readers/byte_source.h"
#include "doctor/readers/stop.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pel::doctor {

// The rows of one table. Columns that the table does not have are null in each.
class TableRows {
 public:
  TableRows(sqlite3* database, const std::string& query);
  // False: there are no more. A FileError if the database is damaged, or takes too long to read.
  bool next();
  bool is_null(int column) const;
  std::int64_t number(int column, std::int64_t otherwise = 0) const;  // otherwise: if it is null
  std::string_view text(int column) const;                            // valid until next()

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // Opens the file of the source, or, if its bytes come from elsewhere, reads them all.
  Database(ByteSource& source, const StopFlag* stop);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool has(std::string_view table) const;  // or view
  std::vector<std::string> columns(std::string_view table) const;
  TableRows select(std::string_view table, std::initializer_list<std::string_view> columns) const;
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  struct Watch;  // ends queries that take too long
  void open_file(const std::string& path);
  void open_bytes(ByteSource& source);

  sqlite3* database_ = nullptr;
  std::string bytes_;  // of a database that is not a file
  std::uint64_t size_bytes_ = 0;
  std::unique_ptr<Watch> watch_;
};

}  // namespace pel::doctor

#include "doctor/readers/sqlite/database.h"

#include <algorithm>

#include <sqlite3.h>

#include "base/check.h"

namespace pel::doctor {
namespace {

// A real query takes about 10 instructions of SQLite's machine for each byte of the file. A view can be
// written so that it never ends.
constexpr std::uint64_t kMinBudget = 50'000'000, kInstructionsPerByte = 200;
constexpr int kInstructionsPerCheck = 1'000'000;

// Of a database that is compressed or comes from a pipe.
constexpr std::uint64_t kMaxBytesInMemory = std::uint64_t{4} << 30;

std::string quoted(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) result.append(c == '"' ? 2 : 1, c);
  return result + '"';
}

// A file name as a URI, which can say that nothing is written and no other file is looked for.
std::string uri_of(std::string_view path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool is_plain = c != '%' && c != '?' && c != '#';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

struct Database::Watch {
  std::uint64_t budget = kMinBudget, spent = 0;
  const StopFlag* stop = nullptr;

  static int check(void* self) {
    auto& watch = *static_cast<Watch*>(self);
    watch.spent += kInstructionsPerCheck;
    return watch.spent > watch.budget || (watch.stop != nullptr && watch.stop->is_requested()) ? 1 : 0;
  }
};

void TableRows::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

TableRows::TableRows(sqlite3* database, const std::string& query) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  PEL_CHECK(status == SQLITE_OK, FileError, "{}", sqlite3_errmsg(database));
}

bool TableRows::next() {
  const int status = sqlite3_step(statement_.get());
  PEL_CHECK(status != SQLITE_INTERRUPT, FileError, "the database takes too long to read");
  PEL_CHECK(status == SQLITE_ROW || status == SQLITE_DONE, FileError, "{}", sqlite3_errmsg(database_));
  return status == SQLITE_ROW;
}

bool TableRows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t TableRows::number(int column, std::int64_t otherwise) const {
  return is_null(column) ? otherwise : sqlite3_column_int64(statement_.get(), column);
}

std::string_view TableRows::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Database::Database(ByteSource& source, const StopFlag* stop) : watch_(std::make_unique<Watch>()) {
  try {
    const std::string path = source.file_path();
    if (path.empty()) {
      open_bytes(source);
    } else {
      open_file(path);
      size_bytes_ = source.progress().all_bytes;
    }
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
  watch_->stop = stop;
  watch_->budget += size_bytes_ * kInstructionsPerByte;
  sqlite3_progress_handler(database_, kInstructionsPerCheck, &Watch::check, watch_.get());
  // The schema is hostile, too: no functions with side effects in views, no writes to the schema.
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, 64 << 20);
  sqlite3_limit(database_, SQLITE_LIMIT_EXPR_DEPTH, 200);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
}

Database::~Database() { sqlite3_close(database_); }

void Database::open_file(const std::string& path) {
  const int status =
      sqlite3_open_v2(uri_of(path).c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  PEL_CHECK(status == SQLITE_OK, FileError, "{}", sqlite3_errmsg(database_));
}

void Database::open_bytes(ByteSource& source) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  for (;;) {
    const std::size_t size = bytes_.size();
    PEL_CHECK(size < kMaxBytesInMemory, FileError,
              "the database is too long to be read from here: decompress it");
    bytes_.resize(size + kBlock);
    const std::size_t count = source.read(bytes_.data() + size, kBlock);
    bytes_.resize(size + count);
    if (count == 0) break;
  }
  size_bytes_ = bytes_.size();
  // Bytes 18 and 19 of the header are 2 if there is a journal of writes, which a database in memory cannot
  // have.
  if (bytes_.size() > 19) bytes_[18] = bytes_[19] = 1;
  PEL_CHECK(sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK, FileError,
            "{}", sqlite3_errmsg(database_));
  const auto length = static_cast<sqlite3_int64>(bytes_.size());
  const int status = sqlite3_deserialize(database_, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                                         length, length, SQLITE_DESERIALIZE_READONLY);
  PEL_CHECK(status == SQLITE_OK, FileError, "{}", sqlite3_errmsg(database_));
}

bool Database::has(std::string_view table) const { return !columns(table).empty(); }

std::vector<std::string> Database::columns(std::string_view table) const {
  std::vector<std::string> names;
  TableRows rows(database_, fmt::format("PRAGMA table_info({})", quoted(table)));
  while (rows.next()) names.emplace_back(rows.text(1));
  return names;
}

TableRows Database::select(std::string_view table, std::initializer_list<std::string_view> wanted) const {
  const std::vector<std::string> there = columns(table);
  std::string list;
  for (const std::string_view name : wanted) {
    if (!list.empty()) list += ", ";
    list += std::ranges::find(there, name) == there.end() ? "NULL" : quoted(name);
  }
  return {database_, fmt::format("SELECT {} FROM {}", list, quoted(table))};
}

}  // namespace pel::doctor

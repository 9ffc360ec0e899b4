#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "doctor/readers/sqlite/formats.h"
#include "doctor/readers/sqlite/sqlite.h"

namespace pel::doctor {
namespace {

// The first that fits reads the database.
constexpr DatabaseFormat kFormats[] = {
    {"an export of Nsight Systems", is_nsys, read_nsys},
    {"a database of rocprofv3", is_rocpd, read_rocpd},
};

}  // namespace

void DevicePropertiesJson::add(std::int64_t id, std::string_view name, std::int64_t multiprocessors) {
  std::string text;
  for (const char c : name.substr(0, 256)) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) >= ' ') text += c;
  }
  if (!list_.empty()) list_ += ", ";
  list_ += fmt::format(R"({{"id": {}, "name": "{}", "numSms": {}}})", id, text, multiprocessors);
}

void DevicePropertiesJson::add_to(TraceSummary& summary) const {
  if (!list_.empty()) summary.metadata.emplace_back("deviceProperties", "[" + list_ + "]");
}

bool can_read_sqlite() { return true; }

TraceSummary read_sqlite(ByteSource& source, EventVisitor visit, const ReadOptions& options) {
  DatabaseVisit to{visit};
  try {
    const Database database(source, options.stop);
    to.summary.bytes = database.size_bytes();
    const auto format =
        std::ranges::find_if(kFormats, [&](const DatabaseFormat& known) { return known.fits(database); });
    PEL_CHECK(
        format != std::end(kFormats), FileError,
        "it is a SQLite database without the tables of Nsight Systems (CUPTI_ACTIVITY_KIND_KERNEL) or of "
        "rocprofv3 (rocpd). Write one: nsys export --type sqlite, or rocprofv3 --output-format rocpd");
    format->read(database, to);
  } catch (const FileError& error) {
    check_stop(options.stop);
    const bool is_read_in_part = options.reading == Reading::Lenient && to.counts.events() != 0;
    PEL_CHECK(is_read_in_part, FileError, "{}: {}", source.name(), error.message());
    to.summary.is_truncated = true;
    to.summary.skipped.push_back({0, 0, error.message()});
    to.summary.skipped_count = 1;
  }
  return to.counts.added_to(std::move(to.summary));
}

}  // namespace pel::doctor

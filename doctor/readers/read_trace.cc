#include "doctor/readers/read_trace.h"

#include "base/check.h"
#include "doctor/readers/peeked_source.h"
#include "doctor/readers/perfetto.h"
#include "doctor/readers/sqlite/sqlite.h"
#include "doctor/readers/what_it_looks_like.h"

namespace pel::doctor {
namespace {

bool may_begin_json(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[');
}

TraceSummary read_json(PeekedSource& source, EventVisitor visit, const ReadOptions& options) {
  const std::string_view first = source.first_bytes();
  PEL_CHECK(options.reading == Reading::Lenient || may_begin_json(first), FileError, "{}",
            not_a_trace(source.name(), first));
  TraceSummary summary = read_kineto(source, visit, options);
  if (summary.events == 0 && !(summary.has_event_list && may_begin_json(first))) {
    PEL_CHECK(!first.empty() || summary.skipped.size() < 2, FileError, "{}: {}", source.name(),
              summary.skipped.back().reason);  // nothing could be decompressed
    throw FileError(not_a_trace(source.name(), first));
  }
  return summary;
}

}  // namespace

TraceSummary read_trace(ByteSource& source, EventVisitor visit, const ReadOptions& options) {
  PeekedSource peeked(source, kLookedAtBytes);
  if (peeked.first_bytes().starts_with(kSqliteMagic) && can_read_sqlite())
    return read_sqlite(peeked, visit, options);
  if (looks_like_perfetto(peeked.first_bytes())) {
    TraceSummary summary = read_perfetto(peeked, visit, options);
    PEL_CHECK(summary.events != 0, FileError,
              "{} is a trace of Perfetto without slices on tracks, as of a whole system. {}", source.name(),
              "Record the profiled program's own: rocprofv3 --output-format pftrace");
    return summary;
  }
  return read_json(peeked, visit, options);
}

}  // namespace pel::doctor

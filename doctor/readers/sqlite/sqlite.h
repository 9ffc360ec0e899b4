// Traces in SQLite databases: exports of Nsight Systems, and what rocprofv3 writes (rocpd).
#pragma once

#include <string_view>

#include "doctor/readers/kineto.h"

namespace pel::doctor {

inline constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

// False in a build without PELLUCID_DOCTOR_SQLITE.
bool can_read_sqlite();

// A FileError if it is not a trace: the database has none of the tables that are known.
TraceSummary read_sqlite(ByteSource& source, EventVisitor visit, const ReadOptions& options);

}  // namespace pel::doctor

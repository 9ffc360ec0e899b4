// Traces of Perfetto in its own format (.pftrace, .perfetto-trace), as rocprofv3 and builds of Kineto with
// Perfetto write them: packets with slices on tracks.
#pragma once

#include <string_view>

#include "doctor/readers/kineto.h"

namespace pel::doctor {

// By the first bytes of a file: packets, of which one has something of a track.
bool looks_like_perfetto(std::string_view first_bytes);

// Visits each slice when it ends, on the caller's thread. Slices that do not end are left out.
TraceSummary read_perfetto(ByteSource& source, EventVisitor visit, const ReadOptions& options);

}  // namespace pel::doctor

// A trace in any of the formats that the doctor reads.
#pragma once

#include "doctor/readers/kineto.h"

namespace pel::doctor {

// Visits on the caller's thread. A file that is not a trace is a FileError that says what it looks like.
TraceSummary read_trace(ByteSource& source, EventVisitor visit, const ReadOptions& options = {});

}  // namespace pel::doctor

// In place of the reader in builds without SQLite.
#include "base/check.h"
#include "doctor/readers/sqlite/sqlite.h"

namespace pel::doctor {

bool can_read_sqlite() { return false; }

TraceSummary read_sqlite(ByteSource&, EventVisitor, const ReadOptions&) {
  throw InternalError("read_sqlite: this build has no SQLite");
}

}  // namespace pel::doctor

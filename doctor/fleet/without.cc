// Stands in where a program is built without Arrow.
#include "base/check.h"
#include "doctor/fleet/fleet_folder.h"

namespace pel::fleet {

bool can_write_parquet() { return false; }

FleetFolder::FleetFolder(std::string folder) : folder_(std::move(folder)) {
  PEL_ASSERT(can_write_parquet(), "who asks for tables asks first whether they can be written");
}
void FleetFolder::add(std::size_t, const doctor::Examined&, const doctor::RankFacts&) {}
FleetSize FleetFolder::finish() { return {}; }

}  // namespace pel::fleet

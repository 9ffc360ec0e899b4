// Replaces the fleet in a program that is built without Arrow.
#include "base/check.h"
#include "doctor/fleet/fleet_folder.h"
#include "doctor/fleet/fleet_report.h"
#include "doctor/fleet/pack.h"

namespace pel::fleet {

bool can_write_parquet() { return false; }

FleetFolder::FleetFolder(std::string folder, FleetOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  PEL_ASSERT(can_write_parquet(), "callers check can_write_parquet() first");
}
void FleetFolder::add(const doctor::Examined&, const doctor::RankFacts&) {}
FleetSize FleetFolder::finish() { return {}; }

std::vector<PackedJob> pack(const PackRequest&) {
  PEL_ASSERT(can_write_parquet(), "callers check can_write_parquet() first");
  return {};
}

std::vector<JobFigures> read_fleet(const std::string&, const FleetProgress&) {
  PEL_ASSERT(can_write_parquet(), "callers check can_write_parquet() first");
  return {};
}
FleetReport report_of(const std::vector<JobFigures>&) { return {}; }
std::string openmetrics_of(const std::vector<JobFigures>&) { return ""; }

}  // namespace pel::fleet

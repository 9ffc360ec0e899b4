// The figures of a fleet as findings, for a terminal, JSON and a page, and as OpenMetrics.
#pragma once

#include <string>
#include <vector>

#include "doctor/diagnosis/finding.h"
#include "doctor/fleet/fleet_figures.h"
#include "doctor/report/html.h"

namespace pel::fleet {

struct FleetReport {
  doctor::PageOverview overview;
  std::vector<doctor::Finding> findings;
};

FleetReport report_of(const std::vector<JobFigures>& jobs);

// Gauges with the time of each job, as `promtool tsdb create-blocks-from openmetrics` loads them.
std::string openmetrics_of(const std::vector<JobFigures>& jobs);

}  // namespace pel::fleet

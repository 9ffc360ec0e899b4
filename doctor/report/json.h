// A report as JSON, schema pellucid.doctor/1. docs/doctor.md has the fields.
#pragma once

#include <string>

#include "doctor/report/report.h"

namespace pel::doctor {

// One trace stands at the top; several are in `traces`. Tables have all their rows.
std::string json_report(const Report& report);

}  // namespace pel::doctor

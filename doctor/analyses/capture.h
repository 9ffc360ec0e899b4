// What prevents the capture of a CUDA graph.
#pragma once

#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"

namespace pel::doctor {

// One text for each kind, with how often it occurs; none: nothing in the trace does.
std::vector<std::string> capture_blockers(const Examined& examined);

}  // namespace pel::doctor

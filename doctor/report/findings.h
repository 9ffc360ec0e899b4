// Findings that belong to no single trace, after a sentence about all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "doctor/diagnosis/finding.h"

namespace pel::doctor {

std::string text_findings(std::string_view sentence, const std::vector<Finding>& findings,
                          const Terminal& terminal);
std::string json_findings(std::string_view schema, std::string_view sentence,
                          const std::vector<Finding>& findings);

}  // namespace pel::doctor

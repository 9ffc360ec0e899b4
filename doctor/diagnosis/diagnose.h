// Reads a trace and diagnoses the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/examination.h"

namespace pel::doctor {

// Questions in addition to the usual ones: "dispatch=0.5; syncs=0".
Diagnosis diagnose(const Examination& examination, const std::vector<std::string>& what_if = {});
Diagnosis diagnose(const std::string& path);  // leaves out what is broken

RunCounts count(const Examined& examined);

std::vector<std::string_view> finding_keys();  // of all that a diagnosis may have

}  // namespace pel::doctor

// Counts of a trace as people read them.
#pragma once

#include <string>

#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

std::string count_of(std::uint64_t count, std::string_view one,
                     std::string_view many);  // "1 kernel", "1,234 kernels"

// "2,700 kernels · 960 memcpys · …": all that was counted, in one line.
std::string totals_line(const Diagnosis& diagnosis);

}  // namespace pel::doctor

// Values of facts and tables as people read them.
#pragma once

#include <string>

#include "doctor/diagnosis/finding.h"

namespace pel::doctor {

// 1.25 ms, 31.0 MB, 1.55 TB/s, 62.5 %, 12,345, yes; "–" where it is not known. Text of a trace is made
// printable.
std::string readable(const Value& value, Unit unit);

std::string grouped(std::int64_t number);  // 12,345

// As a number: of true 1, of nothing and of text not a number.
double number_of(const Value& value);

}  // namespace pel::doctor

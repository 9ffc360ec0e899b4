// Indices of names in a schema.
#pragma once

#include <string_view>

#include "dispatch/schema.h"

namespace pel {

int find_argument(const Schema& schema, std::string_view name);  // -1: there is none
int find_result(const Schema& schema, std::string_view name);    // throws where there is none

}  // namespace pel

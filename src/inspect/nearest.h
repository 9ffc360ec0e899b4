// For a name that is not there: the one that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pel::inspect {

// "; did you mean 'softmax'?", or nothing where no name is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace pel::inspect

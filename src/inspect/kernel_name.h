// Decoded names of GPU kernels, for a terminal and as JSON.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "doctor/names/kernel_name.h"

namespace pel::inspect {

struct KernelNames {
  std::vector<doctor::KernelName> names;

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};

KernelNames decode_names(const std::vector<std::string>& names);

// Returns the lines that are not empty.
std::vector<std::string> names_in(std::istream& lines);

}  // namespace pel::inspect

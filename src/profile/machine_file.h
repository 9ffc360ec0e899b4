// The file that stores the roofline of a machine.
#pragma once

#include "pellucid/machine.h"

namespace pel::profile {

Machine empty_machine();  // processor, instructions and threads alone
std::string machine_text(const Machine& machine);
std::optional<Machine> parse_machine(const std::string& text);  // none: it is not such a file, or broken
void keep_machine(const Machine& machine);

}  // namespace pel::profile

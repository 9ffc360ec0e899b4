// The command `pellucid doctor`, which is also the program pellucid-doctor.
#pragma once

#include <CLI/CLI.hpp>

#include "doctor/tool/program.h"

namespace pel::tool {

void add_doctor(CLI::App& app, Context& context);  // as a subcommand
void add_doctor_options(CLI::App& command, Context& context);

}  // namespace pel::tool

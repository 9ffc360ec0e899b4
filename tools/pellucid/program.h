// Runs a program from its options to its exit code: pellucid and pellucid-doctor.
#pragma once

#include <CLI/CLI.hpp>

#include "command.h"

namespace pel::tool {

// Adds the options of every program: --version and --json.
void prepare(CLI::App& app, Context& context);

// Parses, runs the command, and prints errors to stderr.
int run_program(CLI::App& app, const Context& context, int argc, char** argv);

}  // namespace pel::tool

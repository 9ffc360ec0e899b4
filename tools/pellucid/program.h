// A program from its options to its exit code; pellucid and pellucid-doctor are two.
#pragma once

#include <CLI/CLI.hpp>

#include "command.h"

namespace pel::tool {

// Adds what every program has: --version and --json.
void prepare(CLI::App& app, Context& context);

// Parses, runs what was asked for, and says on stderr what went wrong.
int run_program(CLI::App& app, const Context& context, int argc, char** argv);

}  // namespace pel::tool

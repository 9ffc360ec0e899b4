// The commands of the program pellucid. A command is one file in commands/, and one line in main.cc.
#pragma once

#include <CLI/CLI.hpp>

#include "pellucid/machine.h"

#include "doctor/tool/program.h"

namespace pel::tool {

// Returns the roofs of this machine; measures them the first time.
Machine known_or_measured();

void add_ops(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_cache(CLI::App& app, Context& context);
void add_machine(CLI::App& app, Context& context);
void add_devices(CLI::App& app, Context& context);
void add_roofline(CLI::App& app, Context& context);
void add_anatomy(CLI::App& app, Context& context);
void add_budget(CLI::App& app, Context& context);
void add_fleet(CLI::App& app, Context& context);
void add_name(CLI::App& app, Context& context);
void add_tour(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_man(CLI::App& app, Context& context);

}  // namespace pel::tool

// Converts the commands and options of a CLI11 app to data.
#pragma once

#include <CLI/CLI.hpp>

#include "inspect/command_tree.h"

namespace pel::tool {

inspect::CommandTree command_tree(const CLI::App& app);

}  // namespace pel::tool

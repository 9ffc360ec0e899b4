// The commands and options that CLI11 was told, as data.
#pragma once

#include <CLI/CLI.hpp>

#include "inspect/command_tree.h"

namespace pel::tool {

inspect::CommandTree command_tree(const CLI::App& app);

}  // namespace pel::tool

// The roofs of this machine, for a terminal and as JSON.
#pragma once

#include <string>

#include "pellucid/machine.h"

#include "base/json_writer.h"
#include "base/terminal.h"

namespace pel::inspect {

std::string text(const Machine& machine, const Terminal& terminal);
std::string json(const Machine& machine);
void write_fields(JsonWriter& json, const Machine& machine);

// Returns the FLOPs per byte above which compute takes longer than the traffic of this level.
double ridge(const ComputePeak& peak, const MemoryLevel& level);

}  // namespace pel::inspect

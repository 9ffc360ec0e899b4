// The devices of this build, for a terminal and as JSON.
#pragma once

#include <string>

#include "pellucid/array_view.h"
#include "pellucid/device.h"

#include "base/terminal.h"

namespace pel::inspect {

std::string text(ArrayView<DeviceInfo> devices, const Terminal& terminal);
std::string json(ArrayView<DeviceInfo> devices);

}  // namespace pel::inspect

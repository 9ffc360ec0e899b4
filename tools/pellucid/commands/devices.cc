// pellucid devices: where tensors can be.
#include "inspect/devices.h"

#include "command.h"

namespace pel::tool {

void add_devices(CLI::App& app, Context& context) {
  app.add_subcommand("devices", "Show the devices that tensors can be on")->callback([&context] {
    const std::vector<DeviceInfo> all = devices();
    context.print(context.wants_json ? inspect::json(all) : inspect::text(all, context.terminal));
  });
}

}  // namespace pel::tool

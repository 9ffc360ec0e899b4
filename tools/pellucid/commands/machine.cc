// pellucid machine: the peak rates of this machine.
#include "inspect/machine.h"

#include "command.h"

namespace pel::tool {

Machine known_or_measured() {
  if (std::optional<Machine> known = Machine::known()) return *known;
  return Machine::measure(show_progress);
}

void add_machine(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("machine", "Show the roofs of this machine; measures them the first time");
  auto again = std::make_shared<bool>(false);
  command->add_flag("--again", *again, "Measure again, which takes two seconds");
  command->callback([&context, again] {
    const Machine machine = *again ? Machine::measure(show_progress) : known_or_measured();
    context.print(context.wants_json ? inspect::json(machine) : inspect::text(machine, context.terminal));
  });
}

}  // namespace pel::tool

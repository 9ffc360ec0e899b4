// pellucid man: the manual page, from the commands themselves.
#include "command.h"
#include "command_tree.h"

namespace pel::tool {
namespace {

inspect::ManualFacts facts() {
  inspect::ManualFacts facts;
  facts.version = PELLUCID_VERSION;
  for (const ExitCode& exit : kExitCodes)
    facts.exit_codes.emplace_back(std::to_string(exit.code), exit.meaning);
  facts.environment = {
      {"NO_COLOR", "Where it is set and not empty, no colours. A pipe or a file gets none anyway."},
      {"PELLUCID_MACHINE", "The file that keeps the roofs of this machine."},
      {"PELLUCID_THREADS", "Threads that kernels use. Else as many as there are processors."},
      {"PELLUCID_ISA", "avx2 or avx512: use no more than these instructions."},
  };
  facts.files = {{"~/.cache/pellucid/machine.txt", "The roofs, where PELLUCID_MACHINE names no other file."}};
  return facts;
}

}  // namespace

void add_man(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->footer("To read it: pellucid man | man -l -");
  command->callback([&app, &context] {
    context.refuse_json("a manual page");
    context.print(inspect::manual_page(command_tree(app), facts()));
  });
}

}  // namespace pel::tool

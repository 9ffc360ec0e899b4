// pellucid man: the manual page, generated from the commands.
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
      {"NO_COLOR",
       "If it is set and not empty, the output has no colours. Pipes and files never have colours."},
      {"PELLUCID_MACHINE", "The file with the measured roofs of this machine."},
      {"PELLUCID_CACHE",
       "Where compiled kernels are kept: off, a directory, a size such as 64M, or a directory and a size "
       "with a comma between them."},
      {"PELLUCID_THREADS", "The number of threads that kernels use; by default the number of processors."},
      {"PELLUCID_ISA", "avx2 or avx512: the highest instruction set to use."},
  };
  facts.files = {{"~/.cache/pellucid/machine.txt", "The roofs, unless PELLUCID_MACHINE names another file."},
                 {"~/.cache/pellucid/kernels", "Compiled kernels, unless PELLUCID_CACHE chooses otherwise."}};
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

// pellucid name: decodes the name of a kernel.
#include <iostream>

#include "command.h"
#include "inspect/kernel_name.h"

namespace pel::tool {

void add_name(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("name", "Decode the name of a GPU kernel: what it computes, dtypes, tile");
  auto name = std::make_shared<std::string>();
  command->add_option("KERNEL", *name, "The name, in quotes; - reads names from stdin, one per line")
      ->type_name("");
  command->callback([&context, name] {
    if (name->empty())
      throw CLI::ValidationError(
          "pass the name of a kernel in quotes, or - to read names from stdin, one per line");
    const std::vector<std::string> names = *name == "-" ? inspect::names_in(std::cin) : std::vector{*name};
    if (names.empty()) throw CLI::ValidationError("stdin has no names: write one per line");
    const inspect::KernelNames decoded = inspect::decode_names(names);
    context.print(context.wants_json ? decoded.json() : decoded.text(context.terminal));
  });
}

}  // namespace pel::tool

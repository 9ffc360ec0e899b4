// pellucid ops: the registry.
#include "inspect/ops.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "command.h"

namespace pel::tool {
namespace {

void show_ops(Context& context, const std::string& pattern) {
  if (const Op* op = pattern.empty() ? nullptr : find_op(pattern)) {
    const inspect::OpFacts facts = inspect::facts_of(*op);
    context.print(context.wants_json ? facts.json() : facts.text(context.terminal));
    return;
  }
  const inspect::OpList list = inspect::list_ops(pattern);
  if (list.ops.empty())
    throw CLI::ValidationError(
        fmt::format("no op has '{}' in its name{}", pattern, did_you_mean(pattern, inspect::op_names())));
  context.print(context.wants_json ? list.json() : list.text(context.terminal));
}

}  // namespace

void add_ops(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("ops", "List the ops of the registry, or show the record of one");
  auto pattern = std::make_shared<std::string>();
  command->add_option("NAME", *pattern, "An op, or a part of the names to list; without it all are listed")
      ->type_name("");
  command->callback([&context, pattern] { show_ops(context, *pattern); });
}

}  // namespace pel::tool

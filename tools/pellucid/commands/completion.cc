// pellucid completion: a shell script, generated from the commands.
#include "command.h"
#include "command_tree.h"

namespace pel::tool {

void add_completion(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that completes commands and options in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
  command->footer("For this session of bash: source <(pellucid completion bash)");
  command->callback([&app, &context, shell] {
    context.refuse_json("a script");
    const inspect::Shell kind = *shell == "bash"  ? inspect::Shell::Bash
                                : *shell == "zsh" ? inspect::Shell::Zsh
                                                  : inspect::Shell::Fish;
    context.print(inspect::completion_script(command_tree(app), kind));
  });
}

}  // namespace pel::tool

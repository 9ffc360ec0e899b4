// pellucid: the path from op to kernel, shown on this machine.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "pellucid/error.h"

#include "command.h"
#include "inspect/nearest.h"

namespace pel::tool {
namespace {

// https://no-color.org
bool wants_color() {
  const char* none = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0');
}

// CLI11 says of a wrong word only that it was not expected, and of an unknown command not even that. Empty:
// all words are known.
std::string wrong_word(const CLI::App& app, const CLI::App& at) {
  std::vector<std::string> commands, options;
  for (const CLI::App* command : at.get_subcommands({})) commands.push_back(command->get_name());
  for (const CLI::App* from : {&app, &at})
    for (const CLI::Option* option : from->get_options())
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty())
    return commands.empty() ? "" : fmt::format("give a command: {}", fmt::join(commands, ", "));
  const std::string& word = words.front();
  if (word[0] == '-')
    return fmt::format("there is no option '{}'{}", word, inspect::did_you_mean(word, options));
  if (commands.empty()) return fmt::format("'{}' is one argument too many", word);
  const std::string meant = inspect::did_you_mean(word, commands);
  return fmt::format("there is no command '{}'{}", word,
                     meant.empty() ? fmt::format("; give one of: {}", fmt::join(commands, ", ")) : meant);
}

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string path = app.get_name();
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += ' ';
    path += at->get_name();
  }
  const std::string wrong = wrong_word(app, *at);
  fmt::print(stderr, "{}: {}\n{} --help says how it is used\n", path, wrong.empty() ? error.what() : wrong,
             path);
  return kWrongUsage;
}

int run(int argc, char** argv) {
  Context context;
  context.terminal.has_color = wants_color();
  CLI::App app("A tensor runtime you can see through: the path from op to kernel, shown on this machine.",
               "pellucid");
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.set_version_flag("--version", "pellucid " PELLUCID_VERSION, "Print the version and exit");
  app.add_flag("--json", context.wants_json, "Print JSON with a versioned schema instead of a table");
  add_ops(app, context);
  add_explain(app, context);
  add_machine(app, context);
  add_roofline(app, context);
  add_anatomy(app, context);
  add_budget(app, context);
  add_tour(app, context);
  add_completion(app, context);
  add_man(app, context);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
    return wrong_usage(app, e);
  }
  return context.exit_code;
}

}  // namespace

void show_progress(const std::string& what, double done) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (done >= 1) {
    fmt::print(stderr, "\r\x1b[K");
    return;
  }
  fmt::print(stderr, "\r\x1b[K{} {}", inspect::pad_right(inspect::bar(done, 30), 30), what);
  std::fflush(stderr);
}

}  // namespace pel::tool

int main(int argc, char** argv) {
  try {
    return pel::tool::run(argc, argv);
  } catch (const pel::Error& e) {
    fmt::print(stderr, "pellucid: {}\n", e.what());
    return e.code() == pel::ErrorCode::File ? pel::tool::kCannotRead : pel::tool::kWrongUsage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "pellucid: {}\n", e.what());
    return pel::tool::kNotThere;
  }
}

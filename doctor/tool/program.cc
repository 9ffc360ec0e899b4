#include "doctor/tool/program.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#if defined(_WIN32)
#include <fcntl.h>
#include <windows.h>
#endif

#include "pellucid/error.h"

#include "base/nearest.h"

namespace pel::tool {
namespace {

// Writes bytes as they are, and lets the console of Windows show UTF-8 and colours.
void prepare_output() {
#if defined(_WIN32)
  setmode(STDOUT_FILENO, O_BINARY);
  setmode(STDERR_FILENO, O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  for (const DWORD which : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    const HANDLE handle = GetStdHandle(which);
    DWORD mode = 0;
    if (GetConsoleMode(handle, &mode) != 0) SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
#endif
}

// https://no-color.org
bool wants_color() {
  const char* none = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0');
}

// Returns a message about the first unknown word; empty if there is none. CLI11 only says that a word was not
// expected, and nothing about an unknown command.
std::string wrong_word(const CLI::App& app, const CLI::App& at) {
  std::vector<std::string> commands, options;
  for (const CLI::App* command : at.get_subcommands({})) commands.push_back(command->get_name());
  for (const CLI::App* from : {&app, &at})
    for (const CLI::Option* option : from->get_options())
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty())
    return commands.empty()
               ? ""
               : fmt::format("a command is missing; choose one of: {}", fmt::join(commands, ", "));
  const std::string& word = words.front();
  if (word[0] == '-') return fmt::format("there is no option '{}'{}", word, did_you_mean(word, options));
  if (commands.empty()) return fmt::format("'{}' is an unexpected argument", word);
  const std::string meant = did_you_mean(word, commands);
  return fmt::format("there is no command '{}'{}", word,
                     meant.empty() ? fmt::format("; choose one of: {}", fmt::join(commands, ", ")) : meant);
}

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string path = app.get_name();
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += ' ';
    path += at->get_name();
  }
  const bool is_about_a_value =
      dynamic_cast<const CLI::ValidationError*>(&error) != nullptr && app.remaining(true).empty();
  const std::string wrong = is_about_a_value ? "" : wrong_word(app, *at);
  fmt::print(stderr, "{}: {}\nrun {} --help for its usage\n", path, wrong.empty() ? error.what() : wrong,
             path);
  return kWrongUsage;
}

int parse(CLI::App& app, const Context& context, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
    return wrong_usage(app, e);
  }
  return context.exit_code;
}

}  // namespace

void complain(const std::string& program, std::string_view what) {
  std::string text = program + ": ";
  for (std::size_t begin = 0, end = 0; begin <= what.size(); begin = end + 1) {
    end = std::min(what.find('\n', begin), what.size());
    text += printable(what.substr(begin, end - begin)) + '\n';
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw FileError(fmt::format("{} cannot be written", path));
}

void show_progress(const std::string& what, double done) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (done >= 1) {
    fmt::print(stderr, "\r\x1b[K");
    return;
  }
  fmt::print(stderr, "\r\x1b[K{} {}", pad_right(bar(done, 30), 30), what);
  std::fflush(stderr);
}

void prepare(CLI::App& app, Context& context) {
  prepare_output();
  context.terminal.has_color = wants_color();
  app.allow_windows_style_options(false);  // else /folder/run.json is an option there
  app.set_version_flag("--version", app.get_name() + " " PELLUCID_VERSION, "Print the version and exit");
  app.add_flag("--json", context.wants_json, "Print JSON with a versioned schema instead of a table");
}

int run_program(CLI::App& app, const Context& context, int argc, char** argv) {
  try {
    return parse(app, context, argc, argv);
  } catch (const Error& e) {
    complain(app.get_name(), e.what());
    return e.code() == ErrorCode::File ? kCannotRead : kWrongUsage;
  } catch (const std::exception& e) {
    complain(app.get_name(), e.what());
    return kNotAvailable;
  }
}

}  // namespace pel::tool

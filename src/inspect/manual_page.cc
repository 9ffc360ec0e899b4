// The manual page, in roff's man macros.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "inspect/command_tree.h"

namespace pel::inspect {
namespace {

// A line that begins with a dot or an apostrophe would be a request.
std::string for_roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + for_roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + for_roff(text) + "\\fR"; }

std::string usage(const CommandTree& command, const std::string& path) {
  std::string text = bold(path);
  for (const CommandOption& option : command.options) {
    if (option.is_positional) continue;
    text += " [" + bold(option.names.back());
    if (!option.value.empty()) text += " " + italic(option.value);
    text += "]";
  }
  for (const CommandOption& option : command.options) {
    if (!option.is_positional) continue;
    text += option.is_required ? " " + italic(option.names[0]) : " [" + italic(option.names[0]) + "]";
  }
  return text;
}

std::string options(const CommandTree& command) {
  std::string text;
  for (const CommandOption& option : command.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names)
      names.push_back(option.is_positional ? italic(name) : bold(name));
    text += fmt::format(".TP\n{}", fmt::join(names, ", "));
    if (!option.value.empty()) text += " " + italic(option.value);
    text += "\n" + for_roff(option.help) + ".\n";
    if (!option.choices.empty())
      text += for_roff(fmt::format("One of {}.", fmt::join(option.choices, ", "))) + "\n";
  }
  return text;
}

std::string section(const CommandTree& command, const std::string& path) {
  std::string text;
  if (command.commands.empty()) {
    text += fmt::format(".SS {}\n{}.\n.PP\n{}\n{}", path, for_roff(command.help), usage(command, path),
                        options(command));
  }
  for (const CommandTree& inner : command.commands) {
    std::string inner_path = path;
    inner_path += ' ';
    inner_path += inner.name;
    text += section(inner, inner_path);
  }
  return text;
}

std::string table(std::string_view title, const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [word, meaning] : rows)
    text += fmt::format(".TP\n{}\n{}\n", bold(word), for_roff(meaning));
  return text;
}

}  // namespace

std::string manual_page(const CommandTree& program, const ManualFacts& facts) {
  std::string upper;
  for (const char c : program.name) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string text = fmt::format(
      ".\\\" Written by {0} man, from the commands and options themselves.\n"
      ".TH {1} 1 \"\" \"{0} {2}\" \"User Commands\"\n.SH NAME\n{0} \\- {3}\n"
      ".SH SYNOPSIS\n{4} {5} [{6} ...]\n",
      program.name, upper, facts.version, for_roff(program.help), bold(program.name), italic("COMMAND"),
      italic("ARGUMENT"));
  text +=
      ".SH DESCRIPTION\nResults go to stdout, progress and advice to stderr. Tables fit 100 columns.\n.SH "
      "OPTIONS\n";
  text += options(program) + ".SH COMMANDS\n" + section(program, program.name);
  text += table("EXIT STATUS", facts.exit_codes) + table("ENVIRONMENT", facts.environment) +
          table("FILES", facts.files);
  return text;
}

}  // namespace pel::inspect

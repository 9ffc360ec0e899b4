// A program's commands and options as data, and what is generated from them: completion scripts and a manual
// page.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pel::inspect {

struct CommandOption {
  std::vector<std::string> names;    // "-h", "--help"; a positional option has only its name
  std::string value;                 // "FILE"; empty: a flag, or positional
  std::vector<std::string> choices;  // all allowed values; empty: not a fixed set
  std::string help;
  bool is_positional = false, is_required = false;

  bool takes_file() const {
    return value == "FILE" || (is_positional && (names[0] == "FILE" || names[0] == "TRACE"));
  }
};

struct CommandTree {
  std::string name, help;
  std::vector<CommandOption> options;
  std::vector<CommandTree> commands;
};

enum class Shell : unsigned char { Bash, Zsh, Fish };
std::string completion_script(const CommandTree& program, Shell shell);

// The sections of a manual page other than the commands. Each pair is a word and its meaning.
struct ManualFacts {
  std::string version;
  std::vector<std::pair<std::string, std::string>> exit_codes, environment, files;
};
std::string manual_page(const CommandTree& program, const ManualFacts& facts);

}  // namespace pel::inspect

// Shell completion. Each script finds the command at the cursor and offers what may follow it.
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "inspect/command_tree.h"

namespace pel::inspect {
namespace {

// Every command with its path, "pellucid explain matmul", parents first, with the options of its parents.
struct Reached {
  std::string path;
  const CommandTree* command;
  std::vector<CommandOption> options;
};

void reach(const CommandTree& command, const std::string& path, std::vector<CommandOption> outer,
           std::vector<Reached>& all) {
  const auto has = [&](const std::string& name) {
    for (const CommandOption& option : outer)
      for (const std::string& other : option.names)
        if (other == name) return true;
    return false;
  };
  for (const CommandOption& option : command.options)
    if (option.is_positional || !has(option.names.back())) outer.push_back(option);
  all.push_back({path, &command, outer});
  for (const CommandTree& inner : command.commands) {
    std::string inner_path = path;
    inner_path += ' ';
    inner_path += inner.name;
    reach(inner, inner_path, outer, all);
  }
}

std::vector<Reached> all_of(const CommandTree& program) {
  std::vector<Reached> all;
  reach(program, program.name, {}, all);
  return all;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string inner_paths(const std::vector<Reached>& all) {
  std::vector<std::string> paths;
  for (const Reached& at : all)
    if (at.path.find(' ') != std::string::npos) paths.push_back(quoted(at.path));
  return fmt::format("{}", fmt::join(paths, " | "));
}

// If the word before the cursor is an option with a value.
template <class F>
std::string value_cases(const std::vector<Reached>& all, F&& action) {
  std::string text;
  for (const Reached& at : all)
    for (const CommandOption& option : at.options)
      if (!option.is_positional && !option.value.empty())
        text += fmt::format("    {}) {}; return ;;\n", quoted(at.path + ":" + option.names.back()),
                            action(option));
  return text;
}

std::string bash(const CommandTree& program) {
  const std::vector<Reached> all = all_of(program);
  std::string text = fmt::format(
      "# bash completion for {0}: source this file, or put it into "
      "~/.local/share/bash-completion/completions/{0}\n"
      "_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} reached={0} words= i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$reached ${{COMP_WORDS[i]}}\" in\n"
      "      {1}) reached+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$reached:$before\" in\n",
      program.name, inner_paths(all));
  text += value_cases(all, [](const CommandOption& option) {
    if (!option.choices.empty())
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                         quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    return std::string(option.takes_file() ? "COMPREPLY=($(compgen -f -- \"$word\"))" : "COMPREPLY=()");
  });
  text += "  esac\n  case \"$reached\" in\n";
  for (const Reached& at : all) {
    std::vector<std::string> words;
    bool takes_file = false;
    for (const CommandTree& inner : at.command->commands) words.push_back(inner.name);
    for (const CommandOption& option : at.options) {
      takes_file = takes_file || (option.is_positional && option.takes_file());
      const std::vector<std::string>& more = option.is_positional ? option.choices : option.names;
      words.insert(words.end(), more.begin(), more.end());
    }
    text += fmt::format("    {}) words={}{} ;;\n", quoted(at.path),
                        quoted(fmt::format("{}", fmt::join(words, " "))),
                        takes_file ? "; COMPREPLY=($(compgen -f -- \"$word\"))" : "");
  }
  return text + fmt::format(
                    "  esac\n"
                    "  COMPREPLY+=($(compgen -W \"$words\" -- \"$word\"))\n"
                    "}}\n"
                    "complete -F _{0} {0}\n",
                    program.name);
}

// Formats 'name:help' for _describe. A colon in a name would need an escape; no name has one.
std::string described(const std::string& name, const std::string& help) { return quoted(name + ":" + help); }

std::string zsh(const CommandTree& program) {
  const std::vector<Reached> all = all_of(program);
  std::string text = fmt::format(
      "#compdef {0}\n"
      "# zsh completion for {0}: put it as _{0} into a directory of $fpath\n"
      "_{0}() {{\n"
      "  local reached={0} i\n"
      "  local -a commands options\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    case \"$reached $words[i]\" in\n"
      "      ({1}) reached+=\" $words[i]\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$reached:$words[CURRENT-1]\" in\n",
      program.name, inner_paths(all));
  text += value_cases(all, [](const CommandOption& option) {
    if (!option.choices.empty()) return fmt::format("compadd -- {}", fmt::join(option.choices, " "));
    return std::string(option.takes_file() ? "_files" : "_message value");
  });
  text += "  esac\n  case \"$reached\" in\n";
  for (const Reached& at : all) {
    std::vector<std::string> commands, options;
    bool takes_file = false;
    for (const CommandTree& inner : at.command->commands)
      commands.push_back(described(inner.name, inner.help));
    for (const CommandOption& option : at.options) {
      takes_file = takes_file || (option.is_positional && option.takes_file());
      for (const std::string& choice : option.is_positional ? option.choices : std::vector<std::string>())
        commands.push_back(described(choice, option.help));
      for (const std::string& name : option.is_positional ? std::vector<std::string>() : option.names)
        options.push_back(described(name, option.help));
    }
    text +=
        fmt::format("    ({})\n      commands=({})\n      options=({}){} ;;\n", quoted(at.path),
                    fmt::join(commands, " "), fmt::join(options, " "), takes_file ? "\n      _files" : "");
  }
  return text + fmt::format(
                    "  esac\n"
                    "  _describe command commands\n"
                    "  _describe -o option options\n"
                    "}}\n"
                    "_{0} \"$@\"\n",
                    program.name);
}

std::string fish(const CommandTree& program) {
  std::string text = fmt::format(
      "# fish completion for {0}: put it into ~/.config/fish/completions/{0}.fish\n"
      "complete -c {0} -f\n",
      program.name);
  // `seen` is the condition that the command line contains the command.
  const std::function<void(const CommandTree&, const std::string&)> add = [&](const CommandTree& at,
                                                                              const std::string& seen) {
    std::vector<std::string> inner_names;
    for (const CommandTree& inner : at.commands) inner_names.push_back(inner.name);
    const auto line = [&](const std::string& condition, const std::string& rest, const std::string& help) {
      text += fmt::format("complete -c {}{} {} -d {}\n", program.name,
                          condition.empty() ? "" : " -n " + quoted(condition), rest, quoted(help));
    };
    for (const CommandOption& option : at.options) {
      std::string rest;
      if (!option.is_positional) {
        for (const std::string& name : option.names)
          rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        if (!option.value.empty()) rest += option.takes_file() ? " -r -F" : " -x";
      } else if (option.takes_file()) {
        rest += " -F";
      }
      if (!option.choices.empty()) rest += " -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      if (!rest.empty()) line(seen, rest.substr(1), option.help);
    }
    if (at.commands.empty()) return;
    const std::string names = fmt::format("__fish_seen_subcommand_from {}", fmt::join(inner_names, " "));
    const std::string prefix = seen.empty() ? "" : seen + "; and ";
    for (const CommandTree& inner : at.commands)
      line(prefix + "not " + names, "-a " + inner.name, inner.help);
    for (const CommandTree& inner : at.commands)
      add(inner, prefix + "__fish_seen_subcommand_from " + inner.name);
  };
  add(program, "");
  return text;
}

}  // namespace

std::string completion_script(const CommandTree& program, Shell shell) {
  switch (shell) {
    case Shell::Bash:
      return bash(program);
    case Shell::Zsh:
      return zsh(program);
    case Shell::Fish:
      break;
  }
  return fish(program);
}

}  // namespace pel::inspect

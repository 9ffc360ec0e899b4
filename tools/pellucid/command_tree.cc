#include "command_tree.h"

#include <sstream>

namespace pel::tool {
namespace {

// IsMember describes itself as "{bash,zsh,fish}", after the type's own name and a colon.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

inspect::CommandOption option_of(const CLI::Option& option) {
  inspect::CommandOption o;
  o.is_positional = option.get_positional();
  o.is_required = option.get_required();
  o.help = option.get_description();
  const std::string type = option.get_type_name();
  o.choices = choices_in(type);
  if (o.is_positional) {
    o.names = {option.get_name(true)};
    return o;
  }
  for (const std::string& name : option.get_snames()) o.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) o.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) o.value = type.substr(0, type.find(':'));
  return o;
}

}  // namespace

inspect::CommandTree command_tree(const CLI::App& app) {
  inspect::CommandTree tree{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty())
      tree.options.push_back(option_of(*option));  // an option without a group is hidden
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) tree.commands.push_back(command_tree(*command));
  }
  return tree;
}

}  // namespace pel::tool

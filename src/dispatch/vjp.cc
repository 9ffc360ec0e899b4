// Resolves names in a gradient's rules to indices of arguments and results.
#include "pellucid/extend/vjp.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "dispatch/schema.h"
#include "dispatch/vjp.h"

namespace pel {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

int resolved(const Schema& schema, std::string_view name) {
  const int at = find_argument(schema, name);
  return at >= 0 ? at : ~find_result(schema, name);
}

}  // namespace

int find_argument(const Schema& schema, std::string_view name) {
  const auto found = std::find_if(schema.args.begin(), schema.args.end(),
                                  [&](const SchemaArg& arg) { return arg.name == name; });
  return found == schema.args.end() ? -1 : static_cast<int>(found - schema.args.begin());
}

int find_result(const Schema& schema, std::string_view name) {
  for (std::size_t i = 0; i < schema.results.size(); ++i) {
    const std::string number = schema.results.size() == 1 ? "" : std::to_string(i);
    if (schema.results[i].name == name || name == "result" + number) return static_cast<int>(i);
  }
  throw RegistryError(
      fmt::format("{}: its gradient names {}, which is not an argument or result", schema.op_name, name));
}

std::vector<VjpRule> Gradient::resolve(const Schema& schema) const {
  std::vector<VjpRule> rules;
  for (const Named& rule : named) {
    VjpRule made;
    for (const std::string& name : words_of(rule.of)) {
      const int at = find_argument(schema, name);
      PEL_CHECK(at >= 0 && schema.args[static_cast<std::size_t>(at)].type.base == ArgType::Base::Tensor,
                RegistryError, "{}: a gradient of {}, which is not a tensor argument", schema.op_name, name);
      made.of.push_back(at);
    }
    for (const std::string& name : words_of(rule.keeps)) made.keeps.push_back(resolved(schema, name));
    made.run = rule.run;
    rules.push_back(std::move(made));
  }
  return rules;
}

}  // namespace pel

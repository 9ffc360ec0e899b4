// docs/pytorch-names.md: names of ops and arguments that differ from PyTorch's.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/extend/op.h"

#include "dispatch/record.h"
#include "support/page.h"

namespace pel {
namespace {

struct Declaration {
  std::string name;
  std::vector<std::string> parameters;
};

// Splits at commas outside of brackets.
std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Functions that headers of ops declare, except for those by macros, whose arguments are `self` and `other`.
std::vector<Declaration> declarations() {
  std::vector<Declaration> result;
  for (const auto& entry : std::filesystem::directory_iterator(PELLUCID_SOURCE_DIR "/include/pellucid/ops")) {
    if (entry.path().stem() == "internal" || entry.path().stem() == "pointwise_forms") continue;
    const std::string text =
        std::regex_replace(test::read_file(entry.path().string()), std::regex("//[^\n]*"), "");
    const std::regex declaration(R"(PEL_API\s[\w:<>&,\s]*?\b(\w+)\(([^;]*)\);)");
    const std::regex parameter(R"((\w+)\s*(=[^=]*)?$)");
    for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
      Declaration found{(*it)[1], {}};
      for (const std::string& part : split_arguments((*it)[2])) {
        std::smatch name;
        if (std::regex_search(part, name, parameter)) found.parameters.push_back(name[1]);
      }
      result.push_back(std::move(found));
    }
  }
  return result;
}

const Op* op_of(std::string name) {
  if (name == "stddev") name = "std";
  if (const Op* op = find_op(name)) return op;
  if (name.ends_with("_out")) return find_op(name.substr(0, name.size() - 4) + ".out");
  return nullptr;
}

// As the schema says it: `dim` for an axis.
std::set<std::string> names_in_schema(const Op& op) {
  std::set<std::string> names;
  for (const SchemaArg& arg : op.record().schema.args) {
    names.insert(arg.name);
    std::string ours = arg.name;
    if (const auto at = ours.find("dims"); at != std::string::npos) {
      ours.replace(at, 4, "axes");
    } else if (const auto one = ours.find("dim"); one != std::string::npos) {
      ours.replace(one, 3, arg.type.is_list ? "axes" : "axis");
    }
    names.insert(ours);
  }
  return names;
}

TEST(PyTorchNames, ThePageListsEveryArgumentWithAnotherName) {
  const std::string page = test::read_file(PELLUCID_SOURCE_DIR "/docs/pytorch-names.md");
  int count = 0;
  for (const Declaration& declared : declarations()) {
    const Op* op = op_of(declared.name);
    ASSERT_NE(op, nullptr) << declared.name;
    const std::set<std::string> names = names_in_schema(*op);
    for (const std::string& parameter : declared.parameters) {
      // The first three have rows of their own.
      if (parameter == "options" || parameter == "generator" || parameter == "out" || parameter == "site" ||
          names.contains(parameter))
        continue;
      const std::regex row(fmt::format(R"(\n\| `{}` \|[^\n|]*`{}`)", declared.name, parameter));
      EXPECT_TRUE(std::regex_search(page, row))
          << declared.name << " calls an argument `" << parameter
          << "`, and its schema does not: " << op->schema() << "\n  docs/pytorch-names.md has no row `| "
          << declared.name << " | ...`";
      ++count;
    }
  }
  EXPECT_GT(count, 5);
}

TEST(PyTorchNames, ThePageListsEveryCoreOpWithAnotherName) {
  const std::string page = test::read_file(PELLUCID_SOURCE_DIR "/docs/pytorch-names.md");
  std::istringstream core(test::read_file(PELLUCID_SOURCE_DIR "/tests/dispatch/core_aten.txt"));
  for (std::string line; std::getline(core, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string theirs, ours;
    words >> theirs >> ours;
    if (ours.empty() || ours.find("::") != std::string::npos) continue;
    EXPECT_NE(page.find(fmt::format("| `{}` | `{}`", theirs, ours)), std::string::npos) << line;
  }
}

TEST(PyTorchNames, OpsAndEnumsOfThePageExist) {
  const std::string page = test::read_file(PELLUCID_SOURCE_DIR "/docs/pytorch-names.md");
  const std::size_t begin = page.find("\n## Ops\n"), end = page.find("\n## Arguments\n");
  ASSERT_LT(begin, end);
  // The second column of the table of ops: names alone, without a scope.
  std::istringstream rows(page.substr(begin, end - begin));
  const std::regex name("`([a-z_0-9]+)`");
  int count = 0;
  for (std::string line; std::getline(rows, line);) {
    if (!line.starts_with("| `") && !line.starts_with("| – ")) continue;
    const std::size_t first = line.find("| ", 2), last = line.find(" |", first + 1);
    const std::string here = line.substr(first, last - first);
    for (std::sregex_iterator it(here.begin(), here.end(), name), none; it != none; ++it, ++count)
      EXPECT_NE(op_of((*it)[1]), nullptr) << line;
  }
  EXPECT_GT(count, 20);
  std::string headers;
  for (const auto& entry : std::filesystem::directory_iterator(PELLUCID_SOURCE_DIR "/include/pellucid/ops"))
    headers += test::read_file(entry.path().string());
  const std::size_t enums = page.find("\n## Enums for strings\n");
  const std::string table = page.substr(enums, begin - enums);
  const std::regex scope("`(\\w+)::\\w+`");
  for (std::sregex_iterator it(table.begin(), table.end(), scope), none; it != none; ++it)
    EXPECT_NE(headers.find("enum class " + (*it)[1].str()), std::string::npos) << it->str();
}

}  // namespace
}  // namespace pel

#include "base/expectation.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace pel {
namespace {

struct Sign {
  std::string_view text;
  Comparison comparison;
};
constexpr Sign kSigns[] = {  // the longer first: <= begins with <
    {"==", Comparison::Equal},          {"!=", Comparison::NotEqual}, {"<=", Comparison::LessOrEqual},
    {">=", Comparison::GreaterOrEqual}, {"<", Comparison::Less},      {">", Comparison::Greater}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

double parse_number(std::string_view text, std::string_view condition) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = trimmed({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  double factor = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : 0;
  PEL_CHECK(error == std::errc() && factor != 0, ValueError,
            "'{}' in the condition '{}' is not a number; write one such as 5, 1.5k, 4.2M or 1G", text,
            condition);
  return number * factor;
}

Condition parse_condition(std::string_view text) {
  Condition condition;
  condition.text = text;
  std::string_view rest = text;
  if (rest.front() == '\'' || rest.front() == '"') {
    const std::size_t close = rest.find(rest.front(), 1);
    PEL_CHECK(close != std::string_view::npos, ValueError,
              "the condition '{}' has an opening quote without a closing one", text);
    condition.is_quoted = true;
    condition.quantity = rest.substr(1, close - 1);
    rest = trimmed(rest.substr(close + 1));
  } else {
    const std::size_t end = std::min(rest.find_first_of("=!<> \t"), rest.size());
    condition.quantity = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
  }
  const auto* const sign =
      std::ranges::find_if(kSigns, [&](const Sign& s) { return rest.starts_with(s.text); });
  PEL_CHECK(sign != std::end(kSigns), ValueError,
            "the condition '{}' has no comparison; write one of == != < <= > >= and a number", text);
  condition.comparison = sign->comparison;
  condition.number = parse_number(trimmed(rest.substr(sign->text.size())), text);
  return condition;
}

}  // namespace

bool Condition::holds(double seen) const {
  switch (comparison) {
    case Comparison::Equal:
      return seen == number;
    case Comparison::NotEqual:
      return seen != number;
    case Comparison::Less:
      return seen < number;
    case Comparison::LessOrEqual:
      return seen <= number;
    case Comparison::Greater:
      return seen > number;
    case Comparison::GreaterOrEqual:
      return seen >= number;
  }
  return false;
}

std::vector<Condition> parse_conditions(std::string_view text) {
  std::vector<Condition> conditions;
  while (!text.empty()) {
    // A semicolon between quotes is part of a name.
    char quote = 0;
    std::size_t end = 0;
    for (; end < text.size() && (quote != 0 || text[end] != ';'); ++end) {
      if (quote != 0 ? text[end] == quote : text[end] == '\'' || text[end] == '"')
        quote = quote != 0 ? '\0' : text[end];
    }
    if (const std::string_view one = trimmed(text.substr(0, end)); !one.empty())
      conditions.push_back(parse_condition(one));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  PEL_CHECK(!conditions.empty(), ValueError, "there is no condition; write one such as kernels == 5");
  return conditions;
}

void check_quantities(const std::vector<Condition>& conditions,
                      const std::vector<std::string_view>& quantities) {
  for (const Condition& condition : conditions) {
    PEL_CHECK(condition.is_quoted || std::ranges::find(quantities, condition.quantity) != quantities.end(),
              ValueError,
              "'{}' in the condition '{}' is not a quantity; expected one of {}, or a name between quotes",
              condition.quantity, condition.text, fmt::join(quantities, ", "));
  }
}

}  // namespace pel

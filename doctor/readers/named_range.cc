#include "doctor/readers/named_range.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "doctor/readers/decimal_time.h"

namespace pel::doctor {
namespace {

// What emit_nvtx() adds to the name of an op.
constexpr std::string_view kOpSuffixes[] = {", seq = ", ", op_id = ", ", sizes = "};
constexpr std::string_view kOpSpaces[] = {"aten::", "autograd::", "c10d::", "prims::", "torch::"};
constexpr std::string_view kStepWords[] = {"step",      "train_step", "training_step",
                                           "iteration", "iter",       "batch"};

std::string_view digits_at(std::string_view text) {
  const auto end = std::ranges::find_if(text, [](unsigned char c) { return std::isdigit(c) == 0; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Of "step 3", "Iteration_3" and "iter#3" the number.
std::optional<std::int64_t> step_number(std::string_view text) {
  for (const std::string_view word : kStepWords) {
    const bool begins =
        text.size() > word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                [](char a, unsigned char b) { return a == std::tolower(b); });
    if (!begins) continue;
    std::string_view rest = text.substr(word.size());
    while (!rest.empty() && std::string_view(" _#:-").find(rest[0]) != std::string_view::npos)
      rest.remove_prefix(1);
    if (!rest.empty() && digits_at(rest).size() == rest.size()) return parse_integer(rest);
  }
  return std::nullopt;
}

}  // namespace

void read_named_range(std::string_view text, TraceEvent& event, std::string& scratch) {
  event.name = text;
  event.category = Category::UserAnnotation;
  std::size_t end = text.size();
  for (const std::string_view suffix : kOpSuffixes) end = std::min(end, text.find(suffix));
  const bool is_op = std::ranges::any_of(kOpSpaces, [&](std::string_view s) { return text.starts_with(s); });
  if (end < text.size() || is_op) {
    event.category = Category::CpuOp;
    event.name = text.substr(0, end);
    const std::size_t sequence = text.find(kOpSuffixes[0]);
    if (sequence == std::string_view::npos) return;
    if (const auto number = parse_integer(digits_at(text.substr(sequence + kOpSuffixes[0].size()))))
      event.set(Arg::Sequence, *number);
  } else if (const auto step = step_number(text)) {
    scratch = fmt::format("ProfilerStep#{} ({})", *step, text);
    event.name = scratch;
  }
}

}  // namespace pel::doctor

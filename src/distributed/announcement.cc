#include "distributed/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pel::dist {

std::string_view name(Collective op) {
  constexpr std::string_view kNames[] = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send", "recv"};
  return kNames[static_cast<int>(op)];
}

std::string text_of(Collective op, DType dtype, const std::vector<std::int64_t>& sizes, int peer) {
  std::string text = fmt::format("{} {}[{}]", name(op), name(dtype), fmt::join(sizes, ", "));
  if (op == Collective::Broadcast) text += fmt::format(" from {}", peer);
  if (op == Collective::Send) text += fmt::format(" to {}", peer);
  if (op == Collective::Recv) text += fmt::format(" from {}", peer);
  return text;
}

std::string ordinal(std::uint64_t number) {
  const bool is_teen = number % 100 / 10 == 1;
  const char* const ending = is_teen            ? "th"
                             : number % 10 == 1 ? "st"
                             : number % 10 == 2 ? "nd"
                             : number % 10 == 3 ? "rd"
                                                : "th";
  return fmt::format("{}{}", number, ending);
}

}  // namespace pel::dist

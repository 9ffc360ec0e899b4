#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/names/kernel_name.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxFrom = 42;
constexpr std::size_t kMaxValue = 600;
constexpr std::size_t kColumns = 76;  // of a value alone

std::string shown(const std::string& text) { return text; }
std::string shown(KernelFamily family) { return std::string(name(family)); }
std::string shown(int value) { return fmt::format("{}", value); }
std::string shown(bool fact) { return fact ? "yes" : "no"; }
std::string shown(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }
std::string shown(const TileSize& e) {
  return e.k == 0 ? fmt::format("{} x {}", e.m, e.n) : fmt::format("{} x {} x {}", e.m, e.n, e.k);
}

template <class T>
void show(std::vector<ShownFact>& to, std::string_view label, const NameFact<T>& fact) {
  if (fact) to.push_back({std::string(label), shown(*fact), fact.from, fact.certainty == Certainty::Guessed});
}

// What a terminal can show of a piece of a name, which may have any bytes.
std::string clean(std::string_view text, std::size_t columns) {
  std::string to;
  for (const char c : text.substr(0, columns))
    to += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
  if (text.size() > columns) to.replace(columns - 3, 3, "...");
  return to;
}

}  // namespace

std::vector<ShownFact> shown_facts(const KernelName& name) {
  std::vector<ShownFact> facts;
  show(facts, "family", name.family);
  show(facts, "library", name.library);
  show(facts, "compiled for", name.arch);
  show(facts, "computes", name.functor);
  show(facts, "direction", name.direction);
  show(facts, "kind", name.kind);
  show(facts, "fused", name.fused);
  show(facts, "tensor cores", name.tensor_cores);
  const bool has_pair = static_cast<bool>(name.b);
  show(facts, has_pair ? "dtype of A" : "dtype", name.a);
  show(facts, "dtype of B", name.b);
  show(facts, has_pair ? "dtype of C" : "dtype of result", name.c);
  show(facts, "dtype of sums", name.accumulate);
  show(facts, "layout", name.layout);
  show(facts, "tile", name.tile);
  show(facts, "instruction", name.instruction);
  show(facts, "cluster", name.cluster);
  show(facts, "stages", name.stages);
  if (name.split_k) {
    show(facts, "split K", name.split_k);
    if (*name.split_k == 0) facts.back().value = "yes";
  }
  show(facts, "vector width", name.vector_width);
  show(facts, "operands", name.operands);
  show(facts, "epilogue", name.epilogue);
  for (const auto& [label, fact] : name.more) show(facts, label, fact);
  return facts;
}

std::string explain(const KernelName& name) {
  std::string text = name.title + '\n';
  const auto line = [&](std::string_view label, std::string_view value, std::string_view from) {
    text += fmt::format("  {:<19} {:<34} {}", label, value, from);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  for (const ShownFact& fact : shown_facts(name)) {
    std::string value = clean(fact.value, kMaxValue) + (fact.is_guessed ? " (guessed)" : "");
    const std::string label = clean(fact.label, 19), from = clean(fact.from, kMaxFrom);
    // A long value has the width for itself, and its source the line below.
    std::string_view rest = value;
    bool is_first = true;
    while (rest.size() > kColumns) {
      std::size_t cut = rest.rfind(' ', kColumns);
      if (cut == std::string_view::npos || cut == 0) cut = kColumns;
      line(is_first ? label : "", rest.substr(0, cut), "");
      rest.remove_prefix(cut + (rest[cut] == ' ' ? 1 : 0));
      is_first = false;
    }
    const bool fits = rest.size() <= 34;
    line(is_first ? label : "", rest, fits ? from : "");
    if (!fits && !from.empty()) line("", "", from);
  }
  if (!name.family) line("family", "unknown: no decoder has this name", "");
  if (name.was_mangled) line("read as", clean(name.text, kColumns), "");
  if (name.is_truncated) line("read", "the first 4,096 bytes", "");
  return text;
}

}  // namespace pel::doctor

#include "doctor/names/title.h"

#include <algorithm>

#include <fmt/format.h>

#include "doctor/names/op_families.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

// Appends as long as the title stays short enough; what is left out stands in the explanation.
class TitleText {
 public:
  explicit TitleText(std::string_view first) : text_(first.substr(0, kTitleColumns)) {}
  void add(std::string_view piece, std::string_view between = " ") {
    if (piece.empty() || text_.size() + between.size() + piece.size() > kTitleColumns) return;
    text_ += between;
    text_ += piece;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string_view first_words(Family family) {
  switch (family) {
    case Family::Gemm:
      return "GEMM";
    case Family::Gemv:
      return "GEMV";
    case Family::Convolution:
      return "conv";
    case Family::ConvolutionHelper:
      return "conv helper";
    default:
      return name(family);
  }
}

// The ops that compute something, as many as there is available for.
std::string fused_text(const std::vector<std::string>& ops, Family family, std::size_t available) {
  std::string text;
  for (const std::string& op : ops) {
    const Family of = family_of_op(op);
    if (family != Family::Copy && (of == Family::Copy || uses_tensor_cores(of))) continue;
    if (text.size() + op.size() + 5 > available) return text.empty() ? text : text + "+...";
    text += (text.empty() ? "" : "+") + op;
  }
  return text;
}

std::string tile_text(const TileSize& e) { return fmt::format("{}x{}", e.m, e.n); }

// Without what a title cannot show.
std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, 2 * kTitleColumns))
    clean += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
  return clean.substr(0, kTitleColumns);
}

}  // namespace

std::string title_of(const KernelName& name) {
  if (!name.family) return name.text.empty() ? "(no name)" : printable(name.text);
  const Family family = *name.family;
  TitleText title(first_words(family));
  const bool is_tiled = uses_tensor_cores(family) || family == Family::Gemv;
  if (!is_tiled && name.fused && !name.fused->empty()) {
    title.add(fused_text(*name.fused, family, kTitleColumns - first_words(family).size() - 1));
  } else if (!is_tiled && *name.functor != first_words(family)) {
    title.add(*name.functor);
  }
  if (*name.direction != "forward" && name.functor->find("backward") == std::string::npos)
    title.add(*name.direction);
  title.add(*name.a);
  if (is_tiled) {
    if (name.tile) title.add(tile_text(*name.tile));
    title.add(*name.layout);
    if (name.epilogue.certainty == Certainty::Certain) title.add(*name.epilogue, " + ");
    if (name.tensor_cores) title.add(*name.tensor_cores ? "tensor cores" : "no tensor cores", ", ");
  }
  return printable(title.text());
}

}  // namespace pel::doctor::names

// AMD's Composable Kernel, whose names profilers often leave mangled: GridwiseGemm…<…>, ck_tile::kentry<…>.
#include <algorithm>

#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

// Old ones keep bf16 in unsigned short.
std::string_view ck_dtype(std::string_view type) {
  return type == "unsigned short" ? "bf16" : dtype_of_cpp(type);
}

// The dtypes of a row of template arguments, between which references back and tuples may stand.
void say_ck_types(const Pieces& arguments, KernelName& out) {
  Pieces types;
  for (const std::string_view argument : arguments) {
    if (!ck_dtype(argument).empty()) types.push_back(argument);
    if (number(argument) && types.size() > 1) break;
  }
  if (types.size() < 3) return;
  const auto say = [](NameFact<std::string>& fact, std::string_view type) {
    type == "unsigned short" ? fact.guess("bf16", type) : fact.say(std::string(ck_dtype(type)), type);
  };
  say(out.a, types[0]);
  say(out.b, types[1]);
  say(out.c, types[types[2] == "float" && types.size() > 3 ? 3 : 2]);
  if (std::ranges::find(types, "float") != types.end()) say(out.accumulate, "float");
}

// The tile follows the number of threads, which is the first power of two from 64 on.
void say_ck_tile(const Pieces& arguments, KernelName& out) {
  // Where it comes first, dtypes and descriptions of tensors stand between.
  std::size_t begin = 0;
  if (!arguments.empty() && number(arguments[0])) {
    for (std::size_t i = 8; i + 2 < arguments.size(); ++i) {
      if (!number(arguments[i]) || !number(arguments[i + 1]) || !number(arguments[i + 2])) continue;
      return out.tile.guess({*number(arguments[i]), *number(arguments[i + 1]), 0}, arguments[i]);
    }
    begin = arguments.size();
  }
  for (std::size_t i = begin; i + 3 < arguments.size(); ++i) {
    const int threads = number(arguments[i]).value_or(0);
    if (threads != 64 && threads != 128 && threads != 256 && threads != 512) continue;
    const TileSize e{number(arguments[i + 1]).value_or(0), number(arguments[i + 2]).value_or(0),
                     number(arguments[i + 3]).value_or(0)};
    if (e.m > 0 && e.n > 0 && e.k > 0) return out.tile.guess(e, arguments[i + 1]);
  }
}

void say_ck_layout(const Pieces& arguments, KernelName& out) {
  std::string letters;
  for (const std::string_view argument : arguments) {
    if (argument.ends_with("RowMajor")) letters += 't';
    if (argument.ends_with("ColumnMajor")) letters += 'n';
  }
  if (letters.size() >= 2) out.layout.say(letters.substr(0, 2), "Major");
}

}  // namespace

bool decode_ck(const NameText& name, KernelName& out) {
  const bool is_tile = name.scope.starts_with("ck_tile::");
  if (!is_tile && !name.scope.starts_with("ck::")) return false;
  out.library.say("Composable Kernel", name.scope);
  const std::string_view what = is_tile && name.arguments.size() > 1
                                    ? name.arguments[1].substr(0, name.arguments[1].find('<'))
                                    : name.leaf;
  const auto has = [&](std::string_view piece) { return what.find(piece) != std::string_view::npos; };
  if (has("Rmsnorm") || has("Layernorm") || has("norm")) {
    out.family.say(Family::Norm, what);
    out.functor.say(has("Rmsnorm") ? "rms_norm" : has("Layernorm") ? "layer_norm" : "norm", what);
    const Pieces problem = template_arguments(after(name.text, "PipelineProblem"));
    say_value_dtype(problem, out);
    return true;
  }
  if (has("MoeSorting")) {
    out.family.say(Family::Moe, what);
    return true;
  }
  if (has("reduce") || has("softmax") || has("elementwise")) {
    out.family.say(has("softmax")  ? Family::Softmax
                   : has("reduce") ? Family::Reduction
                                   : Family::Elementwise,
                   what);
    return true;
  }
  const bool is_convolution = has("conv") || has("Conv") || has("bwd_weight") || has("bwd_data");
  if (!is_convolution && !has("gemm") && !has("Gemm")) return false;
  out.family.say(is_convolution ? Family::Convolution : Family::Gemm, what);
  if (is_convolution)
    out.direction.say(has("bwd_weight") ? "backward weights"
                      : has("bwd_data") ? "backward data"
                                        : "forward",
                      what);
  const Pieces arguments = template_arguments(after(name.text, is_tile ? "Problem" : "GridwiseGemm"));
  say_ck_types(arguments, out);
  say_ck_tile(arguments, out);
  if (is_convolution) {
    out.layout.guess("nhwc");
  } else {
    say_ck_layout(arguments, out);
  }
  if (has("xdl") || has("wmma")) {
    out.tensor_cores.say(true, has("xdl") ? "xdl" : "wmma");
  } else {
    out.tensor_cores.guess(is_tile);
  }
  return true;
}

}  // namespace pel::doctor::names

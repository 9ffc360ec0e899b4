// CUTLASS: names that its generator writes, cutlass_80_tensorop_…, bare or in cutlass::Kernel<…>; and types
// of its templates.
#include <algorithm>

#include "doctor/names/decoders.h"
#include "doctor/names/gemm_words.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

// cutlass_80_… of cutlass::Kernel2<cutlass_80_…>(cutlass_80_…::Params): up to what is not part of a word.
std::string_view generated_name(std::string_view text) {
  for (std::size_t at = text.find("cutlass"); at != std::string_view::npos;
       at = text.find("cutlass", at + 7)) {
    std::size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const std::string_view word = text.substr(at, end - at);
    if (!text.substr(end).starts_with("::") && word.find("op_") != std::string_view::npos) return word;
    if (word.find("_simt_") != std::string_view::npos) return word;
  }
  return {};
}

void say_first_type(std::string_view text, KernelName& out) {
  struct Seen {
    std::string_view piece;
    std::size_t at;
  };
  Seen first{{}, std::string_view::npos};
  for (const std::string_view type :
       {"bfloat16_t", "half_t", "tfloat32_t", "float_e4m3_t", "float_e5m2_t", "float_e2m1_t", "double"}) {
    const std::size_t at = text.find(type);
    if (at < first.at) first = {type, at};
  }
  if (first.piece.empty()) return;
  out.a.guess(std::string(dtype_of_cpp(first.piece)), first.piece);
  out.b = out.a;
}

TileSize constants(const Pieces& sides) {
  TileSize e;
  int* const to[] = {&e.m, &e.n, &e.k};
  for (std::size_t i = 0; i < sides.size() && i < 3; ++i) {
    const std::string_view inner = after(sides[i], "C<");
    *to[i] = leading_number(inner.empty() ? sides[i] : inner);
  }
  return e;
}

// A cute::tuple of strides has its 1 where neighbours in memory are: (rows, K) for A, (columns, K) for B.
char stride_letter(std::string_view stride, char k_is_dense, char k_is_not) {
  const Pieces sides = template_arguments(stride);
  return sides.size() >= 2 && sides[1].starts_with("cute::C<1>") ? k_is_dense : k_is_not;
}

// CollectiveMma<Mainloop…<stages, cluster, …>, tile, A, strides of A, B, strides of B, …>
void say_collective(std::string_view text, KernelName& out) {
  const Pieces arguments = template_arguments(after(text, "CollectiveMma"));
  if (arguments.size() < 6) return;
  const Pieces mainloop = template_arguments(arguments[0]);
  if (mainloop.size() >= 2) {
    if (const int stages = leading_number(mainloop[0]); stages > 0) out.stages.say(stages, mainloop[0]);
    if (mainloop[1].starts_with("cute::tuple"))
      out.cluster.say(constants(template_arguments(mainloop[1])), mainloop[1]);
  }
  const TileSize tile = constants(template_arguments(arguments[1]));
  if (tile.m > 0) out.tile.say(tile, arguments[1]);
  const auto type = [](std::string_view argument) {  // of a tuple: the values, not their scales
    const Pieces inner =
        argument.starts_with("cute::tuple") ? template_arguments(argument) : Pieces{argument};
    return std::string(inner.empty() ? std::string_view() : dtype_of_cpp(inner[0]));
  };
  out.a.say(type(arguments[2]), arguments[2]);
  out.b.say(type(arguments[4]), arguments[4]);
  out.layout.say({stride_letter(arguments[3], 't', 'n'), stride_letter(arguments[5], 'n', 't')},
                 arguments[3]);
}

void say_gemm_shape(std::string_view text, KernelName& out) {
  const Pieces shape = template_arguments(after(text, "GemmShape"));
  if (shape.size() == 3 && leading_number(shape[0]) > 0)
    out.tile.say({leading_number(shape[0]), leading_number(shape[1]), leading_number(shape[2])}, "GemmShape");
}

// Also what only uses the wrapper has it, so there must be a matmul inside.
bool decode_template(const NameText& name, KernelName& out) {
  if (!name.has("emm") && !name.has("CollectiveMma") && !name.has("ReduceSplitK")) return false;
  out.library.say("CUTLASS", name.scope);
  const std::string_view text = name.text;
  if (const std::string_view piece = found(text, "ReduceSplitK"); !piece.empty()) {
    const bool is_convolution = name.scope.find("cudnn") != std::string_view::npos;
    out.family.say(is_convolution ? Family::ConvolutionHelper : Family::GemmHelper, piece);
    out.functor.say("sum after split K", piece);
    return true;
  }
  out.tensor_cores.guess(!name.has("Simt"), found(text, name.has("Simt") ? "Simt" : "TensorOp"));
  say_gemm_shape(text, out);
  say_first_type(text, out);
  if (const std::string_view piece = found(text, "ImplicitGemmConvolution"); !piece.empty()) {
    out.family.say(Family::Convolution, piece);
    out.layout.guess("nhwc");
    for (const auto& [word, direction] :
         {std::pair("Wgrad", "backward weights"), std::pair("Dgrad", "backward data"),
          std::pair("Fprop", "forward")}) {
      if (const std::string_view at = found(text, word); !at.empty()) {
        out.direction.say(direction, at);
        break;
      }
    }
    return true;
  }
  out.family.say(Family::Gemm, found(text, name.has("Gemm") ? "Gemm" : "emm"));
  say_collective(text, out);
  const Pieces layouts = [&] {
    Pieces seen;
    for (std::string_view rest = text; seen.size() < 2;) {
      rest = after(rest, "layout::");
      if (rest.empty()) break;
      if (rest.starts_with("RowMajor") || rest.starts_with("ColumnMajor")) seen.push_back(rest.substr(0, 8));
    }
    return seen;
  }();
  if (!out.layout && layouts.size() == 2)
    out.layout.guess({layouts[0] == "RowMajor" ? 't' : 'n', layouts[1] == "RowMajor" ? 't' : 'n'},
                     "layout::");
  if (!out.a && (name.has("fp8") || name.has("e4m3"))) {
    out.a.guess("f8e4m3", found(text, name.has("fp8") ? "fp8" : "e4m3"));
    out.b = out.a;
  }
  if (!out.layout) out.layout.guess("tn");  // the only one that fp8 on sm90 has, and that of linear layers
  if (const std::string_view piece = found(text, "grouped"); !piece.empty())
    out.add("grouped").say("yes", piece);
  return true;
}

}  // namespace

bool decode_cutlass(const NameText& name, KernelName& out) {
  const std::string_view generated = generated_name(name.text);
  if (!generated.empty()) {
    const Pieces words = split(generated, '_');
    if (read_gemm_words(words, out)) {
      out.library.say("CUTLASS", words[0]);
      // cuBLAS and cuDNN bring kernels for older devices along.
      if (words.size() > 1 && number(words[1])) out.arch.guess("sm" + std::string(words[1]), words[1]);
      return true;
    }
  }
  const bool is_wrapper = name.scope.starts_with("cutlass") &&
                          (name.leaf.starts_with("Kernel") || name.leaf.starts_with("device_kernel"));
  if (!is_wrapper) return false;
  return decode_template(name, out);
}

}  // namespace pel::doctor::names

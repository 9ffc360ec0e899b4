// Our own: pellucid_avx512_f32_tn_8x48_bias, gelu_f32_avx512, poi_fused_gelu_mul_0_avx512, cpu_sort_radix,
// and oneDNN's as we name them.
#include <algorithm>

#include "doctor/names/decoders.h"
#include "doctor/names/op_families.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr std::string_view kIsas[] = {"avx2", "avx512", "amx"};
constexpr std::string_view kOwnDtypes[] = {"f64", "f32", "f16",  "bf16", "i64", "i32", "i16",
                                           "i8",  "u8",  "bool", "u16",  "u32", "u64"};

void say_isa(std::string_view word, KernelName& out) {
  if (is_one_of(word, kIsas)) out.arch.say(std::string(word), word);
}

bool decode_product(const Pieces& words, KernelName& out) {
  const bool is_own = words[0] == "pellucid";
  if (!is_own && words[0] != "onednn") return false;
  out.library.say(is_own ? "Pellucid" : "oneDNN", words[0]);
  out.family.say(Family::Gemm, words[0]);
  bool has_dtype = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view w = words[i];
    say_isa(w, out);
    if (is_one_of(w, kOwnDtypes) && !has_dtype) {
      out.a.say(std::string(w), w);
      out.b = out.c = out.a;
      has_dtype = true;
    } else if (w == "attention" || w == "conv") {
      out.family.say(w == "conv" ? Family::Convolution : Family::Attention, w);
    } else if (w == "nhwc" || w == "nchw" ||
               (w.size() == 2 && (w[0] == 'n' || w[0] == 't') && (w[1] == 'n' || w[1] == 't'))) {
      out.layout.say(std::string(w), w);
    } else if (const auto e = tile_size(w)) {
      const bool is_filter = *out.family == Family::Convolution && words[i - 1] == "conv";
      is_filter ? out.add("filter").say(std::string(w), w) : out.tile.say(*e, w);
    } else if (w == "bias" || w == "gelu" || w == "relu" || w == "silu") {
      out.epilogue.say(std::string(w), w);
    }
  }
  if (*out.family == Family::Attention) out.layout = {};
  out.tensor_cores.say(*out.arch == "amx", out.arch.from);
  return true;
}

// gelu_f32_avx512: an op or a cast, its dtype, the instructions.
bool decode_generated_loop(const Pieces& words, std::string_view leaf, KernelName& out) {
  if (words.size() < 3 || !is_one_of(words.back(), kIsas)) return false;
  const std::string_view dtype = words[words.size() - 2];
  if (!is_one_of(dtype, kOwnDtypes)) return false;
  const std::string_view op = leaf.substr(0, leaf.size() - dtype.size() - words.back().size() - 2);
  const Pieces ops = split_ops(op);
  const Family family = ops.size() == 1 ? family_of_op(op) : family_of_op(ops[0]);
  out.family.say(family, op);
  out.functor.say(std::string(op), op);
  out.library.say("Pellucid");
  out.a.say(std::string(dtype), dtype);
  say_isa(words.back(), out);
  return true;
}

bool decode_own_fused(const Pieces& words, std::string_view leaf, KernelName& out) {
  const bool is_loop = leaf.starts_with("poi_fused_");
  if (!is_loop && !leaf.starts_with("red_fused_")) return false;
  std::string_view ops_text = leaf.substr(10);
  if (is_one_of(words.back(), kIsas)) {
    say_isa(words.back(), out);
    ops_text.remove_suffix(std::min(ops_text.size(), words.back().size() + 1));
  }
  const std::size_t last = ops_text.rfind('_');
  if (last != std::string_view::npos && number(ops_text.substr(last + 1)))
    ops_text = ops_text.substr(0, last);
  const Pieces ops = split_ops(ops_text);
  out.library.say("Pellucid");
  out.kind.say(is_loop ? "pointwise" : "rows", words[0]);
  out.fused.say(std::vector<std::string>(ops.begin(), ops.end()), ops_text);
  const FusedFamily family = family_of_fused(ops, !is_loop);
  family.certainty == Certainty::Certain ? out.family.say(family.family, words[0])
                                         : out.family.guess(family.family, words[0]);
  return true;
}

constexpr KnownKernel kCpuKernels[] = {
    {"cpu_gemm_*", Family::Gemm, ""},
    {"cpu_convolution_*", Family::Convolution, ""},
    {"cpu_attention*", Family::Attention, ""},
    {"cpu_copy_cast", Family::Copy, "cast"},
    {"cpu_copy_*", Family::Copy, "copy"},
    {"cpu_pad", Family::Copy, "pad"},
    {"cpu_flip", Family::Copy, "flip"},
    {"cpu_roll", Family::Copy, "roll"},
    {"cpu_cat*", Family::Copy, "cat"},
    {"cpu_triangle", Family::Copy, "triangle"},
    {"cpu_fill_*", Family::Fill, "fill"},
    {"cpu_eye_*", Family::Fill, "eye"},
    {"cpu_linspace_*", Family::Fill, "linspace"},
    {"cpu_arange*", Family::Fill, "arange"},
    {"cpu_random_*", Family::Random, ""},
    {"cpu_sort_*", Family::Sort, "sort"},
    {"cpu_topk_*", Family::Sort, "topk"},
    {"cpu_nth_element", Family::Sort, "nth element"},
    {"cpu_unique_*", Family::Sort, "unique"},
    {"cpu_scan_*", Family::Scan, ""},
    {"cpu_max_pool*", Family::Pooling, "max_pool"},
    {"cpu_avg_pool*", Family::Pooling, "avg_pool"},
    {"cpu_adaptive_*", Family::Pooling, "pool"},
    {"cpu_upsample*", Family::Resize, "upsample"},
    {"cpu_grid_sample*", Family::Resize, "grid_sample"},
    {"cpu_sgd_step", Family::Optimizer, "sgd"},
    {"cpu_adam_step", Family::Optimizer, "adam"},
    {"cpu_embedding*", Family::Embedding, "embedding"},
    {"cpu_linear_cross_entropy*", Family::Loss, "linear_cross_entropy"},
    {"cpu_softmax_cross_entropy*", Family::Loss, "softmax_cross_entropy"},
    {"cpu_*", Family::Index, ""},
};

}  // namespace

bool decode_pellucid(const NameText& name, KernelName& out) {
  if (!name.scope.empty() || !name.arguments.empty()) return false;
  const Pieces words = split(name.leaf, '_');
  if (decode_product(words, out) || decode_own_fused(words, name.leaf, out) ||
      decode_generated_loop(words, name.leaf, out))
    return true;
  if (!say_known(kCpuKernels, name, "Pellucid", out)) return false;
  if (!out.functor) out.functor.say(std::string(name.leaf.substr(4)), name.leaf);
  return true;
}

}  // namespace pel::doctor::names

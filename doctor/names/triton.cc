// Triton: what Inductor generates, triton_red_fused_add_native_layer_norm_3; old names by their arguments,
// triton__0d1d2de; and kernels that libraries write in it.
#include <algorithm>

#include "doctor/names/decoders.h"
#include "doctor/names/op_families.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

struct InductorKind {
  std::string_view word, kind;
  bool over_rows;
};
constexpr InductorKind kInductorKinds[] = {{"poi", "pointwise", false},
                                           {"red", "looped reduction", true},
                                           {"per", "persistent reduction", true},
                                           {"mix", "mixed-order reduction", true},
                                           {"spl", "split scan", true},
                                           {"for", "foreach", false},
                                           {"tem", "template", false},
                                           {"unk", "pointwise", false}};

void say_template(const Pieces& ops, KernelName& out) {
  for (const std::string_view op : ops) {
    const Family family = family_of_op(op);
    if (!uses_tensor_cores(family)) continue;
    out.family.say(family, op);
    out.tensor_cores.guess(true);
    return;
  }
  out.family.guess(Family::Gemm);
}

bool decode_inductor(const NameText& name, KernelName& out) {
  const Pieces words = split(name.leaf, '_');
  if (words.size() < 3 || words[0] != "triton") return false;
  const auto kind = std::ranges::find(kInductorKinds, words[1], &InductorKind::word);
  if (kind == std::end(kInductorKinds)) return false;
  out.library.say("Triton, by Inductor", "triton_");
  out.kind.say(std::string(kind->kind), words[1]);
  std::string_view ops_text = after(name.leaf, "_fused");
  if (ops_text.starts_with('_')) ops_text.remove_prefix(1);
  const std::size_t last = ops_text.rfind('_');
  if (number(ops_text)) {
    ops_text = {};  // triton_poi_fused_0
  } else if (last != std::string_view::npos && number(ops_text.substr(last + 1))) {
    ops_text = ops_text.substr(0, last);
  }
  const Pieces ops = ops_text.empty() ? Pieces() : split_ops(ops_text);
  if (!ops.empty()) out.fused.say(std::vector<std::string>(ops.begin(), ops.end()), ops_text);
  if (kind->word == "tem") {
    say_template(ops, out);
    return true;
  }
  const FusedFamily family = family_of_fused(ops, kind->over_rows);
  if (family.certainty == Certainty::Certain) {
    out.family.say(family.family, words[1]);
  } else {
    out.family.guess(family.family, words[1]);
  }
  return true;
}

// triton__0d1d2de3de: each argument with d where 16 divides it, e where 8 does, which only sizes have. A loop
// has one size, a reduction two.
bool decode_by_arguments(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("triton__")) return false;
  std::string_view rest = name.leaf.substr(8);
  if (leading_digits(rest).empty()) return false;
  int sizes = 0, arguments = 0;
  while (!rest.empty() && arguments < 256) {
    // The number that is due; digits that follow it are those of arguments without a mark.
    const std::string due = std::to_string(arguments);
    if (!rest.starts_with(due)) break;
    rest.remove_prefix(due.size());
    ++arguments;
    std::size_t marks = 0;
    while (marks < rest.size() && (rest[marks] == 'd' || rest[marks] == 'e' || rest[marks] == 'c')) ++marks;
    const bool is_size = marks == 0 || rest.substr(0, marks).find('e') != std::string_view::npos;
    sizes += is_size ? 1 : 0;
    rest.remove_prefix(marks);
  }
  out.library.say("Triton, by Inductor", "triton__");
  out.family.guess(sizes > 1 ? Family::Reduction : Family::Elementwise, name.leaf.substr(8));
  if (sizes > 0) out.operands.guess(arguments - sizes, name.leaf.substr(8));
  out.add("ops").say("not in the name: see the op that launched it");
  return true;
}

// _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu: layouts and dtypes of Y, X and W; M, N, K, split K.
// Here N is dense along the last axis.
bool decode_matmul_ogs(const NameText& name, KernelName& out) {
  const std::string_view rest = after(name.leaf, "matmul_ogs_");
  if (rest.empty()) return false;
  const Pieces words = split(rest, '_');
  out.family.say(Family::Gemm, "matmul_ogs");
  out.library.say("triton_kernels", "matmul_ogs");
  out.tensor_cores.guess(true);
  for (const std::string_view w : words) {
    const Pieces parts = split(w, 'x');
    if (w.size() == 3 && std::ranges::all_of(w, [](char c) { return c == 'N' || c == 'T'; })) {
      out.layout.say({w[1] == 'N' ? 't' : 'n', w[2] == 'N' ? 't' : 'n'}, w);
    } else if (parts.size() == 4 && number(parts[0])) {
      out.tile.say({leading_number(parts[0]), leading_number(parts[1]), leading_number(parts[2])}, w);
      out.split_k.say(leading_number(parts[3]), parts[3]);
    } else if (parts.size() >= 3 && !dtype_of_word(parts[0]).empty()) {
      const std::string_view b =
          w.substr(parts[0].size() + parts[1].size() + 2);  // mxfp4 has an x of its own
      out.c.say(std::string(dtype_of_word(parts[0])), parts[0]);
      out.a.say(std::string(dtype_of_word(parts[1])), parts[1]);
      out.b.say(std::string(dtype_of_word(b)), b);
    } else if (w == "swiglu") {
      out.epilogue.say("swiglu", w);
    }
  }
  return true;
}

constexpr KnownKernel kTritonKernels[] = {
    {"_topk_forward", Family::Moe, "routing"},
    {"_topk_backward", Family::Moe, "routing"},
    {"_combined_routing_*", Family::Moe, "routing"},
    {"_routing_*", Family::Moe, "routing"},
    {"_expt_data_*", Family::Moe, "routing"},
    {"_sum_bitmatrix_rows*", Family::Moe, "routing"},
    {"_finalize_matmul_scatter*", Family::Moe, "combine experts"},
    {"fused_moe_kernel*", Family::Gemm, ""},
    {"create_flashinfer_kv_indices_triton*", Family::Index, "pages"},
    {"_copy_page_indices_kernel*", Family::Index, "pages"},
    {"compute_position_kernel*", Family::Index, "positions"},
    {"write_req_to_token_pool_triton*", Family::Index, "pages"},
    {"get_last_loc_kernel*", Family::Index, "positions"},
    {"alloc_extend_kernel*", Family::Index, "pages"},
    {"alloc_decode_kernel*", Family::Index, "pages"},
    {"_copy_tensor_kernel*", Family::Copy, "copy"},
    {"sage_quant_kernel*", Family::Quantize, "quantize"},
    {"_geglu_*", Family::Elementwise, "geglu"},
    {"_swiglu_*", Family::Elementwise, "swiglu"},
    {"_rms_norm_*", Family::Norm, "rms_norm"},
    {"_layer_norm_*", Family::Norm, "layer_norm"},
    {"_group_norm_*", Family::Norm, "group_norm"},
    {"_triton_rope*", Family::Elementwise, "rotary"},
    {"liger_cross_entropy_kernel*", Family::Loss, "cross_entropy"},
};

}  // namespace

bool decode_triton(const NameText& name, KernelName& out) {
  if (decode_inductor(name, out) || decode_by_arguments(name, out) || decode_matmul_ogs(name, out))
    return true;
  if (!name.scope.empty() || !say_known(kTritonKernels, name, "Triton", out)) return false;
  out.library.guess("Triton");
  if (*out.family == Family::Gemm) {
    out.tensor_cores.guess(true);
    out.layout.guess("tn");
  }
  for (const std::string_view word : split(name.leaf, '_'))
    if (const std::string_view dtype = dtype_of_word(word); !dtype.empty())
      out.a.say(std::string(dtype), word);
  return true;
}

}  // namespace pel::doctor::names

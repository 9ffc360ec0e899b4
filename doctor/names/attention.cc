// Attention of several libraries: FlashAttention 2 and 3, xFormers, TensorRT-LLM, Composable Kernel, Triton.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

void say_attention(const NameText& name, std::string_view piece, std::string_view library, KernelName& out) {
  out.family.say(Family::Attention, piece);
  if (!library.empty()) out.library.say(std::string(library), name.scope.empty() ? piece : name.scope);
  out.tensor_cores.guess(true);
}

void say_inputs(std::string_view dtype, std::string_view piece, KernelName& out) {
  if (!dtype.empty()) out.a.say(std::string(dtype), piece);
}

// Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, …>: head size, rows of Q, rows
// of K and V, warps.
bool decode_flash2(const NameText& name, KernelName& out) {
  const std::string_view traits = found(name.text, "kernel_traits<");
  if (traits.empty()) return false;
  say_attention(name, name.leaf, "FlashAttention", out);
  const std::string_view from = name.text.substr(static_cast<std::size_t>(traits.data() - name.text.data()));
  const Pieces arguments = template_arguments(from);
  if (arguments.size() < 4) return true;
  out.add("head size").say(std::string(arguments[0]), arguments[0]);
  out.tile.say({leading_number(arguments[1]), leading_number(arguments[2]), 0}, arguments[1]);
  out.add("warps").say(std::string(arguments[3]), arguments[3]);
  for (const std::string_view argument : arguments) say_inputs(dtype_of_cpp(argument), argument, out);
  if (name.leaf == "flash_fwd_kernel" && name.arguments.size() > 2)
    out.add("causal").guess(name.arguments[2] == "true" ? "yes" : "no", name.arguments[2]);
  if (name.leaf == "compute_attn_ws" && name.arguments.size() > 1)
    out.add("causal").guess(name.arguments[1] == "true" ? "yes" : "no", name.arguments[1]);
  return true;
}

// cutlass::device_kernel<flash::FlashAttnFwdSm90<…, cute::tuple<cute::C<128>, cute::C<176>, cute::C<128>>, …>
bool decode_flash3(const NameText& name, KernelName& out) {
  const std::string_view at = found(name.text, "FlashAttn");
  if (at.empty()) return false;
  const std::string_view rest = name.text.substr(static_cast<std::size_t>(at.data() - name.text.data()));
  const std::string_view kind = rest.substr(0, rest.find('<'));
  say_attention(name, kind, "FlashAttention", out);
  out.arch.guess(rest.find("Sm100") != std::string_view::npos ? "sm100" : "sm90", kind);
  const bool is_backward = kind.find("Bwd") != std::string_view::npos;
  out.direction.say(is_backward ? "backward" : "forward", kind);
  if (kind.find("process") != std::string_view::npos) {
    out.add("part").say(std::string(kind.substr(9)), kind);
    out.tensor_cores = {};
  }
  // The first tuple of three that is not a cluster of ones, or of two in what prepares and completes.
  std::string_view look = rest;
  for (int tries = 0; tries < 8; ++tries) {
    look = after(look, "cute::tuple");
    if (look.empty()) break;
    const Pieces sides = template_arguments(look);
    TileSize e;
    int* const to[] = {&e.m, &e.n, &e.k};
    bool are_constants = sides.size() == 2 || sides.size() == 3;
    for (std::size_t i = 0; i < sides.size() && are_constants; ++i) {
      are_constants = sides[i].starts_with("cute::C<");
      *to[i] = leading_number(after(sides[i], "C<"));
    }
    if (!are_constants || e.m <= 4) continue;
    if (sides.size() == 3) {
      out.tile.say({e.m, e.n, 0}, look.substr(0, 48));
      out.add("head size").say(std::to_string(e.k), sides[2]);
    } else {
      out.add("head size").say(std::to_string(e.n), sides[1]);
    }
    break;
  }
  for (const std::string_view type : {"cutlass::bfloat16_t", "cutlass::half_t", "cutlass::float_e4m3_t"}) {
    if (const std::string_view piece = found(rest, type); !piece.empty() && !out.a)
      say_inputs(dtype_of_cpp(piece), piece, out);
  }
  return true;
}

// fmha_cutlassF_bf16_aligned_64x128_rf_sm80
bool decode_xformers(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("fmha_cutlass")) return false;
  const Pieces words = split(name.leaf, '_');
  say_attention(name, words[1], "xFormers", out);
  out.direction.say(words[1].ends_with('B') ? "backward" : "forward", words[1]);
  for (const std::string_view word : words) {
    say_inputs(dtype_of_word(word), word, out);
    if (const std::optional<TileSize> e = tile_size(word)) out.tile.say(*e, word);
    if (word.starts_with("sm") && number(word.substr(2))) out.arch.say(std::string(word), word);
  }
  if (*out.a == "f32") out.tensor_cores.guess(true, "f32");
  return true;
}

// fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext
bool decode_trtllm_fmha(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("fmhaSm")) return false;
  say_attention(name, "fmha", "TensorRT-LLM", out);
  out.direction.say("forward");
  const std::string_view arch = name.leaf.substr(4, name.leaf.find("Kernel") - 4);
  if (arch.size() < 10) out.arch.say("sm" + std::string(arch.substr(2)), arch);
  std::string_view rest = after(name.leaf, "Kernel_");
  const auto say_next = [&](std::string_view label, NameFact<std::string>& fact) {
    if (!rest.starts_with(label)) return;
    for (const std::string_view word : {"E4m3", "E5m2", "E2m1", "Bfloat16", "Fp16"}) {
      if (!rest.substr(label.size()).starts_with(word)) continue;
      fact.say(std::string(dtype_of_word(word)), rest.substr(0, label.size() + word.size()));
      rest.remove_prefix(label.size() + word.size());
      return;
    }
  };
  say_next("Qkv", out.a);
  say_next("Q", out.a);
  say_next("Kv", out.b);
  say_next("O", out.c);
  if (const int head = rest.starts_with('H') ? leading_number(rest.substr(1)) : 0; head > 0)
    out.add("head size").say(std::to_string(head), rest.substr(0, 1 + leading_digits(rest.substr(1)).size()));
  const std::string_view queries = after(rest, "SeqQ");
  if (const int rows = leading_number(queries), keys = leading_number(after(queries, "Kv"));
      rows > 0 && keys > 0)
    out.tile.say({rows, keys, 0}, queries.substr(0, queries.find("Kv") + 5));
  for (const std::string_view mask : {"SlidingOrChunkedCausal", "Causal", "Dense"}) {
    if (const std::string_view piece = found(rest, mask); !piece.empty()) {
      out.add("mask").say(std::string(mask), piece);
      break;
    }
  }
  if (!found(rest, "PagedKv").empty()) out.add("keys and values").say("paged", "PagedKv");
  for (const std::string_view phase : {"Context", "Generation"})
    if (const std::string_view piece = found(rest, phase); !piece.empty())
      out.add("phase").say(phase == "Context" ? "prefill" : "decode", piece);
  return true;
}

struct AttentionName {
  std::string_view leaf, library;
};
constexpr AttentionName kAttentionNames[] = {
    {"attn_fwd*", "AOTriton"},
    {"bwd_kernel_dk_dv*", "AOTriton"},
    {"bwd_kernel_dq*", "AOTriton"},
    {"bwd_preprocess*", "AOTriton"},
    {"_attn_fwd*", "Triton"},
    {"_attn_bwd*", "Triton"},
    {"_fwd_kernel", "Triton"},
    {"_fwd_kernel_aligned*", "Triton"},
    {"_fwd_kernel_stage*", "Triton"},
    {"_fwd_grouped_kernel_stage*", "Triton"},
    {"_bwd_kernel_*", "Triton"},
    {"kernel_unified_attention_*", "vLLM"},
    {"_kernel_unified_attention_*", "vLLM"},
    {"reduce_segments", "vLLM"},
    {"paged_attention_*", "vLLM"},
    {"single_query_cached_kv_attention_kernel*", "vLLM"},
    {"merge_attn_states_kernel*", "vLLM"},
    {"BatchPrefillWith*", "FlashInfer"},
    {"BatchDecodeWith*", "FlashInfer"},
    {"SinglePrefillWith*", "FlashInfer"},
    {"SingleDecodeWith*", "FlashInfer"},
    {"PersistentVariableLengthMergeStates*", "FlashInfer"},
    {"flash_bwd_*", "FlashAttention"},
    {"flash_fwd_*", "FlashAttention"},
    {"*_sdpa_*", "cuDNN"},
    {"sage_fwd*", "SageAttention"},
    {"qk_int8_sv_*", "SageAttention"},
    {"fmha_*", ""},
    {"fmha_v2_*", "TensorRT-LLM"},
    {"masked_multihead_attention_kernel*", "TensorRT-LLM"},
    {"kernel_mha", "TensorRT-LLM"},
    {"mla_*", ""},
    {"flash_fwd_mla*", "FlashMLA"},
    {"flash_fwd_splitkv_*", "FlashAttention"},
    {"mha_*", ""},
};

bool decode_named(const NameText& name, KernelName& out) {
  for (const AttentionName& known : kAttentionNames) {
    if (!fits(known.leaf, name.leaf)) continue;
    std::string_view library = known.library;
    if (name.scope.starts_with("aiter")) library = "AITER";
    say_attention(name, name.leaf, library, out);
    for (const std::string_view word : split(name.leaf, '_')) {
      say_inputs(dtype_of_word(word), word, out);
      if (word.starts_with("hd") && number(word.substr(2)))
        out.add("head size").say(std::string(word.substr(2)), word);
    }
    if (!out.a) say_value_dtype(name.arguments, out);
    const bool joins = name.leaf == "reduce_segments" ||
                       name.leaf.find("reduce_kernel") != std::string_view::npos ||
                       name.leaf.find("combine") != std::string_view::npos || fits("*erge*tates*", name.leaf);
    if (joins) {
      out.add("part").say("joins the parts of split keys", name.leaf);
      out.tensor_cores = {};
    }
    return true;
  }
  return false;
}

// ck_tile::kentry<2, ck_tile::FmhaFwdKernel<…TileFmhaShape<sequence<128, 128, 32, 128, 32, 128>…
bool decode_ck_fmha(const NameText& name, KernelName& out) {
  const std::string_view at = found(name.text, "Fmha");
  if (at.empty() || found(name.text, "ck_tile").empty()) return false;
  const std::string_view rest = name.text.substr(static_cast<std::size_t>(at.data() - name.text.data()));
  const std::string_view kind = rest.substr(0, rest.find('<'));
  say_attention(name, kind, "Composable Kernel", out);
  const bool is_backward = kind.find("Bwd") != std::string_view::npos;
  out.direction.say(is_backward ? "backward" : "forward", kind);
  const Pieces problem = template_arguments(after(rest, "PipelineProblem"));
  if (!problem.empty()) say_inputs(dtype_of_cpp(problem[0]), problem[0], out);
  const Pieces shape = template_arguments(after(after(rest, "FmhaShape<"), "equence"));
  if (shape.size() >= 6) {
    out.tile.say({leading_number(shape[0]), leading_number(shape[1]), 0}, shape[0]);
    out.add("head size").guess(std::string(shape[5]), shape[5]);
  }
  if (const std::string_view piece = found(rest, "PagedKV"); !piece.empty())
    out.add("keys and values").say("paged", piece);
  return true;
}

}  // namespace

bool decode_attention(const NameText& name, KernelName& out) {
  return decode_flash2(name, out) || decode_flash3(name, out) || decode_xformers(name, out) ||
         decode_trtllm_fmha(name, out) || decode_ck_fmha(name, out) || decode_named(name, out);
}

}  // namespace pel::doctor::names

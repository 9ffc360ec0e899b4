// Servers of language models: vLLM, SGLang, AITER, FlashInfer.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kServing[] = {
    {"*rms*norm*quant*", Family::Norm, "rms_norm and quantize"},
    {"*fused_add_rms_norm*", Family::Norm, "add and rms_norm"},
    {"*FusedAddRMSNorm*", Family::Norm, "add and rms_norm"},
    {"*rms*norm*", Family::Norm, "rms_norm"},
    {"*RMSNorm*", Family::Norm, "rms_norm"},
    {"*layer_norm*", Family::Norm, "layer_norm"},
    {"*layernorm*", Family::Norm, "layer_norm"},
    {"*groupnorm*", Family::Norm, "group_norm"},
    {"*rotary*", Family::Elementwise, "rotary"},
    {"*Rotary*", Family::Elementwise, "rotary"},
    {"*rope*", Family::Elementwise, "rotary"},
    {"*reshape_and_cache*", Family::Copy, "write keys and values"},
    {"*store_kvcache*", Family::Copy, "write keys and values"},
    {"*concat_and_cache*", Family::Copy, "write keys and values"},
    {"AppendPagedKVCache*", Family::Copy, "write keys and values"},
    {"*copy_blocks*", Family::Copy, "copy pages"},
    {"*act_and_mul*quant*", Family::Elementwise, "act_and_mul and quantize"},
    {"*act_and_mul*", Family::Elementwise, "act_and_mul"},
    {"*activation_kernel*", Family::Elementwise, "activation"},
    {"*quant*", Family::Quantize, "quantize"},
    {"*moe_align*", Family::Moe, "sort tokens by expert"},
    {"*moe_sum*", Family::Moe, "combine experts"},
    {"*count_and_sort_expert*", Family::Moe, "sort tokens by expert"},
    {"*topk*gating*", Family::Moe, "routing"},
    {"*topkGating*", Family::Moe, "routing"},
    {"*grouped_topk*", Family::Moe, "routing"},
    {"*moe*", Family::Moe, ""},
    {"*Sampling*", Family::Random, "sample"},
    {"*apply_repetition_penalties*", Family::Elementwise, "penalties"},
    {"clamp_position_kernel", Family::Index, "positions"},
    {"resolve_future_token_ids_kernel", Family::Index, "token ids"},
    {"*marlin*", Family::Gemm, ""},
    {"*awq_gemm*", Family::Gemm, ""},
    {"*gptq*gemm*", Family::Gemm, ""},
};

struct ServingScope {
  std::string_view scope, library;
};
constexpr ServingScope kServingScopes[] = {{"vllm::", "vLLM"},
                                           {"sgl", "SGLang"},
                                           {"aiter::", "AITER"},
                                           {"flashinfer::", "FlashInfer"},
                                           {"marlin", "Marlin"}};

}  // namespace

bool decode_serving(const NameText& name, KernelName& out) {
  std::string_view library;
  for (const ServingScope& s : kServingScopes)
    if (name.scope.starts_with(s.scope) ||
        name.scope.find(std::string(":") + std::string(s.scope)) != std::string_view::npos)
      library = s.library;
  const bool is_bare = name.scope.empty() || name.scope == "(anonymous namespace)::";
  if (library.empty() && !(is_bare && !name.arguments.empty())) return false;
  if (!say_known(kServing, name, library, out)) return false;
  if (library.empty()) out.library = {};
  say_value_dtype(name.arguments, out);
  if (*out.family == Family::Copy && out.a && (*out.a)[0] == 'i') out.a = {};  // the type is that of indices
  for (const std::string_view activation : {"silu", "gelu_tanh", "gelu"}) {
    if (const std::string_view piece = found(name.text, activation);
        !piece.empty() && out.functor->starts_with("act_and_mul")) {
      out.functor.say(std::string(activation) + out.functor->substr(3), piece);
      break;
    }
  }
  if (*out.family == Family::Gemm) {
    out.layout.guess("tn");
    out.tensor_cores.guess(true);
    if (out.a) out.b = out.c = out.a;
  }
  return true;
}

}  // namespace pel::doctor::names

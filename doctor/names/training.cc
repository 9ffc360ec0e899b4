// Kernels of training other than PyTorch's own: Apex, Transformer Engine, and those seen in DeepSeek's trace.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kTraining[] = {
    {"ln_fwd_*", Family::Norm, "layer_norm"},
    {"ln_bwd_*", Family::Norm, "layer_norm"},
    {"rmsnorm_fwd_*", Family::Norm, "rms_norm"},
    {"rmsnorm_bwd_*", Family::Norm, "rms_norm"},
    {"cuApplyLayerNorm*", Family::Norm, "layer_norm"},
    {"cuCompute*GammaBeta*", Family::Norm, "layer_norm"},
    {"cuComputeGradInput*", Family::Norm, "layer_norm"},
    {"scaled_*masked_softmax*", Family::Softmax, "softmax"},
    {"cast_transpose*", Family::Quantize, "cast and transpose"},
    {"*cast_and_transpose*", Family::Quantize, "cast and transpose"},
    {"*cast_to_fp8*", Family::Quantize, "quantize"},
    {"*cast_back*", Family::Quantize, "dequantize"},
    {"*swiglu*", Family::Elementwise, "swiglu"},
    {"*gated_act*", Family::Elementwise, "gated activation"},
    {"topk_sum_and_topk_idx*", Family::Moe, "routing"},
    {"*expand_to_fused*", Family::Moe, "permute tokens"},
    {"reduce_fused*", Family::Moe, "combine experts"},
    {"get_fused_mapping*", Family::Moe, "routing"},
    {"*count_expert*", Family::Moe, "routing"},
    {"unique_group_indices*", Family::Moe, "routing"},
    {"aux_fi_impl", Family::Moe, "load balance"},
    {"fill_tensormaps_kernel*", Family::GemmHelper, "tensor maps"},
    {"*transpose*", Family::Copy, "transpose"},
};

constexpr std::string_view kTrainingScopes[] = {"layer_norm::", "transformer_engine::", "cuda::", "apex"};

}  // namespace

bool decode_training(const NameText& name, KernelName& out) {
  for (const std::string_view scope : kTrainingScopes) {
    if (found(name.scope, scope).empty() || name.scope.starts_with("at::")) continue;
    if (!say_known(kTraining, name, "", out)) return false;
    out.library = {};
    if (scope != "cuda::")
      out.library.guess(scope == "layer_norm::" ? "Apex" : "Transformer Engine", name.scope);
    if (name.scope.find("dpsk") != std::string_view::npos) out.library.say("DeepSeek", name.scope);
    if (fits("*swiglu*cast*", name.leaf)) out.functor.say("swiglu and quantize", name.leaf);
    Pieces types = name.arguments;
    if (!types.empty() && types[0].find('<') != std::string_view::npos) types = template_arguments(types[0]);
    say_value_dtype(types, out);
    return true;
  }
  return false;
}

}  // namespace pel::doctor::names

// TensorRT-LLM: matmuls of its generator, bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_…_sm100f, and
// kernels of its mixture of experts.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kTrtllm[] = {
    {"finalizeKernel*", Family::Moe, "combine experts"},
    {"routing*", Family::Moe, "routing"},
    {"permuteKernel*", Family::Moe, "permute tokens"},
    {"activationKernel*", Family::Elementwise, "activation"},
    {"expandInputRowsKernel*", Family::Moe, "permute tokens"},
    {"finalizeMoeRoutingKernel*", Family::Moe, "combine experts"},
    {"doActivationKernel*", Family::Elementwise, "activation"},
    {"quantize_with_block_size*", Family::Quantize, "quantize"},
    {"*quantize*", Family::Quantize, "quantize"},
};

// The longest dtype that `text` begins with.
std::string_view leading_dtype(std::string_view text) {
  for (std::size_t length = std::min<std::size_t>(text.size(), 8); length > 0; --length)
    if (!dtype_of_word(text.substr(0, length)).empty()) return text.substr(0, length);
  return {};
}

bool say_dtype(NameFact<std::string>& fact, std::string_view word) {
  if (word.empty()) return false;
  fact.say(std::string(dtype_of_word(word)), word);
  return true;
}

bool decode_generated_product(const NameText& name, KernelName& out) {
  const bool is_batched = name.leaf.starts_with("bmm_");
  if (!is_batched && !name.leaf.starts_with("gemm_")) return false;
  const Pieces words = split(name.leaf, '_');
  if (words.size() < 5) return false;
  const std::string_view a = leading_dtype(words[2]);
  if (a.empty() || leading_dtype(words[1]).empty()) return false;
  out.family.say(Family::Gemm, words[0]);
  out.library.say("TensorRT-LLM", words[0]);
  say_dtype(out.c, leading_dtype(words[1]));
  say_dtype(out.a, a);
  if (!say_dtype(out.b, leading_dtype(words[2].substr(a.size())))) out.b = out.a;
  say_dtype(out.accumulate, leading_dtype(words[3]));
  for (std::size_t i = 4; i < words.size(); ++i) {
    const std::string_view w = words[i];
    if (w.starts_with('t') && !out.tile) {
      if (const auto e =
              tile_size(w.substr(1, w.find('u') == std::string_view::npos ? w.size() : w.find('u') - 1)))
        out.tile.say(*e, w);
    } else if (w.starts_with('s') && number(w.substr(1))) {
      out.stages.say(*number(w.substr(1)), w);
    } else if (w.starts_with('m') && tile_size(w.substr(1))) {
      out.instruction.say(*tile_size(w.substr(1)), w);
    } else if (w.starts_with("cga")) {
      if (const auto e = tile_size(w.substr(3))) out.cluster.say(*e, w);
    } else if (w == "TN" || w == "NN" || w == "NT" || w == "TT") {
      out.layout.say({w[0] == 'T' ? 't' : 'n', w[1] == 'T' ? 't' : 'n'}, w);
    } else if (w == "swiGlu" || w == "geGlu") {
      out.epilogue.say(w == "swiGlu" ? "swiglu" : "geglu", w);
    } else if (w.starts_with("splitK")) {
      out.split_k.say(leading_number(w.substr(6)), w);
    } else if (w.starts_with("sm") && leading_number(w.substr(2)) > 0) {
      out.arch.say(std::string(w), w);
    } else if (w == "dynBatch") {
      out.add("batch").say("set on the device, as experts need it", w);
    }
  }
  out.tensor_cores.guess(true, out.instruction.from);
  return true;
}

}  // namespace

bool decode_trtllm(const NameText& name, KernelName& out) {
  if (decode_generated_product(name, out)) return true;
  const bool is_own = name.scope.starts_with("tensorrt_llm::") || name.scope.starts_with("moe::dev::");
  if (!is_own || !say_known(kTrtllm, name, "TensorRT-LLM", out)) return false;
  Pieces types = name.arguments;
  if (!types.empty() && types[0].find('<') != std::string_view::npos) types = template_arguments(types[0]);
  say_value_dtype(types, out);
  return true;
}

}  // namespace pel::doctor::names

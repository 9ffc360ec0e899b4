// Writes saved plans with inputs and expected results, for runtime.py.
//   write_plans FOLDER [MODEL.gguf PROMPT.safetensors]
// Without a model the decode step is that of a small Llama with random weights.
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "pellucid/pellucid.h"

#include "saved/decode_step.h"
#include "saved/generate_tokens.h"

namespace {

using namespace pel;

template <class F>
void write(const std::string& folder, const std::string& name, F f,
           const std::vector<std::vector<Tensor>>& calls, const SaveOptions& options = {}) {
  const auto fast = compile(f);
  std::vector<NamedTensor> tensors;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Tensor> outputs = fast(calls[c]);
    if (c == 0) fast.save(folder + "/" + name + ".pel", options);
    const auto add = [&](const char* kind, const std::vector<Tensor>& list) {
      for (std::size_t i = 0; i < list.size(); ++i)
        tensors.push_back({fmt::format("{}.{}.{}", c, kind, i), list[i]});
    };
    add("input", calls[c]), add("output", outputs);
  }
  io::save_safetensors(folder + "/" + name + ".cases", tensors);
}

void write_tokens(const std::string& path, const std::vector<std::int64_t>& tokens) {
  std::ofstream file(path);
  for (const std::int64_t token : tokens) file << token << ' ';
}

void write_llama(const std::string& folder, const nn::Llama& model, const std::vector<std::int64_t>& prompt,
                 const SaveOptions& options) {
  const nn::LlamaConfig& config = model.config();
  const test::CacheSizes sizes{config.layers, config.kv_heads, config.width / config.heads, 256};
  const auto fast = compile(test::decode_step(model));
  const std::vector<std::int64_t> text =
      test::generate_tokens([&](const std::vector<Tensor>& in) { return fast(in); }, prompt, 24, sizes);
  fast.save(folder + "/decode.pel", options);
  write_tokens(folder + "/prompt", prompt);
  write_tokens(folder + "/expected", text);
  write_tokens(folder + "/sizes", {sizes.layers, sizes.kv_heads, sizes.width, sizes.capacity});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argv[1];
  manual_seed(1);
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 160);
  const auto blocks = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor h = rms_norm(mlp(in[0]) + in[0], {64});
    return {h, softmax(h * 0.5, -1), scaled_dot_product_attention(h, h, h).contiguous()};
  };
  const std::vector<std::vector<Tensor>> calls = {
      {randn({1, 7, 64})}, {randn({1, 1, 64})}, {randn({3, 33, 64})}};
  write(folder, "blocks", blocks, calls);
  write(folder, "avx512", blocks, calls, {.instruction_sets = {InstructionSet::Avx512}});
  const std::vector<NamedTensor> weights = mlp.named_parameters();
  io::save_safetensors(folder + "/weights.safetensors", weights);
  write(folder, "referring", blocks, calls, {.weights = {folder + "/weights.safetensors"}});
  if (argc == 2) {
    const nn::Llama model({.vocabulary = 300,
                           .context = 256,
                           .layers = 2,
                           .heads = 4,
                           .kv_heads = 2,
                           .width = 64,
                           .hidden = 160});
    write_llama(folder, model, {5, 7, 11, 13}, {});
    return 0;
  }
  const auto model = io::load_llama(io::GgufFile(argv[2]));
  const Tensor prompt = io::SafetensorsFile(argv[3]).tensor("prompt.0");
  const auto* const tokens = prompt.data<const std::int64_t>();
  write_llama(folder, *model, {tokens, tokens + prompt.numel().value()}, {});
  return 0;
}

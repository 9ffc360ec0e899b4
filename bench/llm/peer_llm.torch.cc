// The same model as llm.cc in libtorch: inference mode, one matmul for queries, keys and values, its own
// attention over shared heads, a cache that is allocated once.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Layer {
  at::Tensor input_norm, qkv, out, post_norm, gate, up, down, keys, values;
};

struct Model {
  explicit Model(at::ScalarType dtype) : dtype(dtype) {
    using namespace bench;
    const auto noise = [&](at::IntArrayRef sizes) { return at::randn(sizes).mul(0.02).to(dtype); };
    embed = noise({kVocabulary, kWidth});
    norm = at::ones({kWidth}, dtype);
    for (std::int64_t i = 0; i < kLayers; ++i) {
      const std::int64_t shared = kKvHeads * kHeadWidth;
      layers.push_back({at::ones({kWidth}, dtype), noise({kWidth + 2 * shared, kWidth}),
                        noise({kWidth, kWidth}), at::ones({kWidth}, dtype), noise({kHidden, kWidth}),
                        noise({kHidden, kWidth}), noise({kWidth, kHidden}),
                        at::empty({1, kKvHeads, kContext + 64, kHeadWidth}, dtype),
                        at::empty({1, kKvHeads, kContext + 64, kHeadWidth}, dtype)});
    }
    prompt = at::randint(kVocabulary, {1, kContext}, at::kLong);
  }

  static at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const auto halves = x.chunk(2, -1);
    return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
  }

  // Returns the logits of the last of the tokens, which come after `before` others.
  at::Tensor run(const at::Tensor& tokens, std::int64_t before) {
    using namespace bench;
    const std::int64_t count = tokens.size(1);
    const at::Tensor position = at::arange(before, before + count, at::kFloat).unsqueeze(1);
    const at::Tensor rates =
        at::pow(kRotaryBase, at::arange(0, kHeadWidth, 2, at::kFloat) / kHeadWidth).reciprocal();
    const at::Tensor angle = (position * rates).repeat({1, 2});
    const at::Tensor cos = angle.cos().to(dtype), sin = angle.sin().to(dtype);
    at::Tensor x = at::embedding(embed, tokens);
    for (const Layer& layer : layers) {
      const std::int64_t shared = kKvHeads * kHeadWidth;
      const auto parts = at::linear(at::rms_norm(x, {kWidth}, layer.input_norm, kNormEps), layer.qkv)
                             .split_with_sizes({kWidth, shared, shared}, -1);
      const auto by_head = [&](const at::Tensor& t, std::int64_t heads) {
        return t.view({1, count, heads, kHeadWidth}).transpose(1, 2);
      };
      const at::Tensor query = rotated(by_head(parts[0], kHeads), cos, sin);
      layer.keys.narrow(2, before, count).copy_(rotated(by_head(parts[1], kKvHeads), cos, sin));
      layer.values.narrow(2, before, count).copy_(by_head(parts[2], kKvHeads));
      const at::Tensor attended = at::scaled_dot_product_attention(
          query, layer.keys.narrow(2, 0, before + count), layer.values.narrow(2, 0, before + count), {}, 0.0,
          before == 0, std::nullopt, true);
      x = x + at::linear(attended.transpose(1, 2).reshape({1, count, kWidth}), layer.out);
      const at::Tensor y = at::rms_norm(x, {kWidth}, layer.post_norm, kNormEps);
      x = x + at::linear(at::silu(at::linear(y, layer.gate)) * at::linear(y, layer.up), layer.down);
    }
    return at::linear(at::rms_norm(x.select(1, count - 1), {kWidth}, norm, kNormEps), embed);
  }
  at::Tensor prefill() {
    const c10::InferenceMode inference;
    is_filled = true;
    return run(prompt, 0);
  }
  at::Tensor decode() {
    const c10::InferenceMode inference;
    if (!is_filled) prefill();
    return run(prompt.narrow(1, 0, 1), bench::kContext);
  }

  at::ScalarType dtype;
  at::Tensor embed, norm, prompt;
  std::vector<Layer> layers;
  bool is_filled = false;
};

struct Api {
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static std::shared_ptr<Model> model(at::ScalarType dtype) {
    const c10::InferenceMode inference;
    return std::make_shared<Model>(dtype);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::llm_cases<Api>()); }

// Text generation with language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/compile.h"
#include "pellucid/nn/models.h"

namespace pel::nn {

// How a token is sampled from logits. The random number is a function of the seed and of the token's position
// in its sequence alone, so sampling is reproducible and does not depend on the rest of the batch.
struct Sampling {
  double temperature = 0;  // 0: the likeliest token
  double top_p = 1;        // nucleus sampling: among the likeliest tokens with this total probability
  std::uint64_t seed = 0;
};
// Of logits [vocabulary], for the token at `position`.
PEL_API std::int64_t sample_token(const Tensor& logits, const Sampling& sampling, std::int64_t position,
                                  Site site = Site::current());

// A compiled Llama, as two graphs: prefill for a prompt, decode for tokens after those in the caches. Each
// serves all batch sizes, numbers of tokens and cache lengths, with the bits of the eager model. Positions
// are data: one more token needs no new graph, and a new plan only every kKeysPerPlan tokens.
class PEL_API CompiledLlama {
 public:
  // The model must outlive this.
  explicit CompiledLlama(const Llama& model, const CompileOptions& options = {});

  // As Llama's, without gradients. The eager and the compiled model may share caches.
  Tensor next_logits(const Tensor& tokens, KVCaches& caches, ArrayView<std::int64_t> counts = {},
                     Site site = Site::current()) const;
  KVCaches make_caches() const { return model_.make_caches(); }

  std::size_t compiles() const { return prefill_.compiles() + decode_.compiles(); }
  std::size_t plans() const { return prefill_.plans() + decode_.plans(); }
  std::string graph() const { return prefill_.graph() + decode_.graph(); }
  CompileExplanation explain() const {
    CompileExplanation both = prefill_.explain(), decode = decode_.explain();
    for (CompileExplanation::Graph& graph : decode.graphs) both.graphs.push_back(std::move(graph));
    return both;
  }

  static constexpr std::int64_t kKeysPerPlan = 64;

 private:
  const Llama& model_;
  detail::CompiledTensors prefill_, decode_;
};

struct GenerateOptions {
  std::int64_t max_tokens = 64;
  std::vector<std::int64_t> stops{};  // tokens that end a text; not part of it
  Sampling sampling{};
  // Called with the logits [vocabulary] of each next token before sampling; it may change them.
  std::function<void(std::size_t prompt, const Tensor& logits)> on_logits{};
  // Called with each new token of each prompt, as soon as it is known; false ends that prompt's text.
  std::function<bool(std::size_t prompt, std::int64_t token)> on_token{};
};
// Returns the continuation of each prompt. Prompts of different lengths are batched; each has the tokens, and
// the bits of logits, that it would have alone.
PEL_API std::vector<std::vector<std::int64_t>> generate(const Llama& model,
                                                        ArrayView<std::vector<std::int64_t>> prompts,
                                                        const GenerateOptions& options = {},
                                                        Site site = Site::current());
PEL_API std::vector<std::vector<std::int64_t>> generate(const CompiledLlama& model,
                                                        ArrayView<std::vector<std::int64_t>> prompts,
                                                        const GenerateOptions& options = {},
                                                        Site site = Site::current());

}  // namespace pel::nn

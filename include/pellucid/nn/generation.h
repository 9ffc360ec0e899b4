// Text that a language model writes on, token by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pellucid/compile.h"
#include "pellucid/nn/models.h"

namespace pel::nn {

// How a token is drawn from logits. The random number is a function of the seed and of the token's position
// in its sequence alone, so a text can be drawn again, and does not depend on what else is in the batch.
struct Sampling {
  double temperature = 0;  // 0: the likeliest token
  double top_p = 1;  // of the likeliest tokens, as many as it takes to have this share of the probability
  std::uint64_t seed = 0;
};
// Of logits [vocabulary], for the token at `position`.
PEL_API std::int64_t sample_token(const Tensor& logits, const Sampling& sampling, std::int64_t position,
                                  Site site = Site::current());

// A Llama compiled, as two graphs: one reads texts from their beginning, one goes on behind what the caches
// hold. Each serves all batches, numbers of tokens and lengths of caches, with the bits that the model itself
// gives. Where tokens stand is data: a token more is no other graph, and another plan only every
// kKeysOfAPlan tokens.
class PEL_API CompiledLlama {
 public:
  // The model must live as long.
  explicit CompiledLlama(const Llama& model, const CompileOptions& options = {});

  // As Llama's, without gradients. A model and what is compiled of it may take turns on the same caches.
  Tensor next_logits(const Tensor& tokens, KvCaches& caches, ArrayView<std::int64_t> counts = {},
                     Site site = Site::current()) const;
  KvCaches make_caches() const { return model_.make_caches(); }

  std::size_t compiles() const { return begin_.compiles() + go_on_.compiles(); }
  std::size_t plans() const { return begin_.plans() + go_on_.plans(); }
  std::string graph() const { return begin_.graph() + go_on_.graph(); }
  std::string explain() const { return begin_.explain().text() + go_on_.explain().text(); }

  static constexpr std::int64_t kKeysOfAPlan = 64;

 private:
  const Llama& model_;
  detail::CompiledTensors begin_, go_on_;
};

struct GenerateOptions {
  std::int64_t max_tokens = 64;
  std::vector<std::int64_t> stops{};  // tokens that end a text; they are not part of it
  Sampling sampling{};
  // Called with the logits [vocabulary] of each next token; what it writes to them counts.
  std::function<void(std::size_t prompt, const Tensor& logits)> on_logits{};
  // Called with each new token of each prompt, as soon as it is known; false ends that prompt's text.
  std::function<bool(std::size_t prompt, std::int64_t token)> on_token{};
};
// What follows each prompt. Prompts of different lengths go through the model together; each gets the tokens,
// and the bits of logits, that it would get alone.
PEL_API std::vector<std::vector<std::int64_t>> generate(const Llama& model,
                                                        ArrayView<std::vector<std::int64_t>> prompts,
                                                        const GenerateOptions& options = {},
                                                        Site site = Site::current());
PEL_API std::vector<std::vector<std::int64_t>> generate(const CompiledLlama& model,
                                                        ArrayView<std::vector<std::int64_t>> prompts,
                                                        const GenerateOptions& options = {},
                                                        Site site = Site::current());

}  // namespace pel::nn

// A compiled graph at sizes that it has not seen: the time to its plan. The graph is that of GPT-2 small, 12
// layers of 12 heads, with a width of 96 instead of 768, which a plan does not depend on; each call has
// another number of tokens.
#include <pellucid/pellucid.h>

#include "../support/server.h"
#include "compile/compiled_function.h"

namespace {

using pel::Tensor;
constexpr std::int64_t kContext = 1024;

// Lengths in an order that has no pattern, each once in kContext - 1 calls: more than a function keeps plans
// of.
class Lengths {
 public:
  std::int64_t next() {
    do {
      last_ = (last_ * 5 + 3) % kContext;
    } while (last_ < 2);
    return last_;
  }

 private:
  std::int64_t last_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  pel::set_thread_count(1);
  const pel::InferenceMode inference;
  const pel::nn::GPT model({.vocabulary = 256, .context = kContext, .layers = 12, .heads = 12, .width = 96});
  pel::compiler::CompiledFunction function(
      [&](pel::ArrayView<Tensor> inputs) -> std::vector<Tensor> { return {model(inputs[0])}; });
  const Tensor all = pel::zeros({1, kContext}, pel::kI64);
  const Tensor first = all.slice(1, 0, 17).contiguous();
  function.plan_for({&first, 1});
  if (function.captures() != 1) return 1;

  Lengths lengths;
  const bench::Case new_size("gpt2_small_new_length", [&] {
    const Tensor tokens = pel::empty({1, lengths.next()}, pel::kI64);
    return function.plan_for({&tokens, 1});
  });
  const bench::Case cases[] = {new_size};
  const int code = bench::serve(argc, argv, cases);
  return function.captures() == 1 ? code : 1;
}

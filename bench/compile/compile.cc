// Compiled functions: small and large calls after compilation, and first calls, which compile. The driver
// runs each first call in its own process.
#include <string>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/lazy.h"
#include "../support/server.h"

namespace {

using pel::Tensor;

Tensor noise(pel::Dims sizes, pel::DType dtype = pel::kF32) {
  return pel::to_copy(pel::mul(pel::randn(sizes), 0.05), dtype);
}

auto compiled_add() {
  return pel::compile([](const Tensor& a, const Tensor& b) { return pel::add(a, b); });
}
auto compiled_gelu_mul() {
  return pel::compile(
      [](const Tensor& a, const Tensor& b) { return pel::mul(pel::gelu(a, pel::GeluApproximate::Tanh), b); });
}
auto compiled_mlp() {
  return pel::compile([](const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& down) {
    return pel::linear(
        pel::mul(pel::gelu(pel::linear(x, gate), pel::GeluApproximate::Tanh), pel::linear(x, up)), down);
  });
}

struct Pair {
  Tensor a, b;
};

void add_gelu_mul(std::vector<bench::Case>& cases, const char* dtype_name, pel::DType dtype) {
  const bench::Lazy in([dtype] { return Pair{noise({8192, 3072}, dtype), noise({8192, 3072}, dtype)}; });
  const auto gelu_mul = compiled_gelu_mul();
  for (const int threads : {1, 2}) {
    cases.emplace_back("gelu_mul_" + std::string(dtype_name) + "_" + std::to_string(threads) + "t",
                       [in, gelu_mul, threads] {
                         pel::set_thread_count(threads);
                         return gelu_mul(in().a, in().b);
                       });
  }
}

// `make` returns the function that is called once and timed.
template <class Make>
bench::Case first_call(const char* name, Make make) {
  bench::Case first(name, [make] { return make()(); });
  first.measure = [make](std::int64_t) {
    pel::set_thread_count(2);
    const auto call = make();
    return bench::detail::nanoseconds_of([&](std::int64_t) { bench::do_not_optimize(call()); }, 1);
  };
  return first;
}

auto make_first_mlp() {
  return [x = noise({128, 768}), gate = noise({3072, 768}), up = noise({3072, 768}),
          down = noise({768, 3072})] { return compiled_mlp()(x, gate, up, down); };
}
auto make_first_gpt() {
  auto gpt = std::make_shared<pel::nn::GPT>(
      pel::nn::GPTConfig{.vocabulary = 50257, .context = 1024, .layers = 12, .heads = 12, .width = 768});
  gpt->eval();
  return [gpt, tokens = pel::randint(0, 50257, {1, 64})] { return pel::compile(*gpt)(tokens); };
}

}  // namespace

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  std::vector<bench::Case> cases;
  const Pair small{noise({8}), noise({8})};
  cases.emplace_back("add_8", [&small, add = compiled_add()] { return add(small.a, small.b); });
  add_gelu_mul(cases, "f32", pel::kF32);
  add_gelu_mul(cases, "bf16", pel::kBF16);
  cases.push_back(first_call("mlp_cold", make_first_mlp));
  cases.push_back(first_call("mlp_warm", make_first_mlp));
  cases.push_back(first_call("gpt_cold", make_first_gpt));
  return bench::serve(argc, argv, cases);
}

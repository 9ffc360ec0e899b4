// Compiled row reductions with the elementwise ops before and after them: parts of transformers.
// 8192 rows of 768 numbers, or of 32000 logits.
#include <string>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/lazy.h"
#include "../support/server.h"

namespace {

using pel::Tensor;
constexpr std::int64_t kRows = 8192, kColumns = 768, kHeads = 32, kClasses = 32000;
constexpr double kEps = 1e-5;

Tensor noise(pel::Dims sizes, pel::DType dtype) { return pel::to_copy(pel::randn(sizes), dtype); }

// h = x + residual and its norm: the rest of a block reads both.
auto layer_norm_residual() {
  return pel::compile([](const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias) {
    const Tensor h = pel::add(x, residual);
    return std::pair(h, pel::layer_norm(h, weight.sizes(), weight, bias, kEps));
  });
}
auto rms_norm() {
  return pel::compile(
      [](const Tensor& x, const Tensor& weight) { return pel::rms_norm(x, weight.sizes(), weight, kEps); });
}
// The mask is the same for all heads.
auto softmax_mask() {
  return pel::compile(
      [](const Tensor& scores, const Tensor& mask) { return pel::softmax(pel::add(scores, mask), -1); });
}
auto cross_entropy() {
  return pel::compile(
      [](const Tensor& logits, const Tensor& target) { return pel::cross_entropy(logits, target); });
}
auto gelu_mul_sum() {
  return pel::compile([](const Tensor& a, const Tensor& b) {
    return pel::sum(pel::mul(pel::gelu(a, pel::GeluApproximate::Tanh), b), {-1});
  });
}

struct Api {
  static void set_threads(int count) { pel::set_thread_count(count); }
};

// `make` returns the inputs, at the first call.
template <class Function, class Make>
void add_case(std::vector<bench::Case>& cases, const std::string& name, const Function& f, Make make) {
  const bench::Lazy in(make);
  bench::add_by_threads<Api>(cases, name, [in, f] { return std::apply(f, in()); });
}

void add_cases(std::vector<bench::Case>& cases, const std::string& dtype_name, pel::DType dtype) {
  const auto row = [dtype] { return noise({kColumns}, dtype); };
  const auto rows = [dtype] { return noise({kRows, kColumns}, dtype); };
  add_case(cases, "layer_norm_residual_" + dtype_name, layer_norm_residual(),
           [=] { return std::tuple(rows(), rows(), row(), row()); });
  add_case(cases, "rms_norm_" + dtype_name, rms_norm(), [=] { return std::tuple(rows(), row()); });
  add_case(cases, "softmax_mask_" + dtype_name, softmax_mask(), [=] {
    constexpr std::int64_t kQueries = kRows / kHeads;
    const Tensor seen = pel::tril(pel::ones({kQueries, kColumns}, pel::kBool), kColumns - kQueries);
    const Tensor mask = pel::where(seen, pel::zeros({}), pel::full({}, -1e9));
    return std::tuple(noise({kHeads, kQueries, kColumns}, dtype), pel::to_copy(mask, dtype));
  });
  add_case(cases, "cross_entropy_32000_" + dtype_name, cross_entropy(),
           [=] { return std::tuple(noise({kRows, kClasses}, dtype), pel::randint(0, kClasses, {kRows})); });
  add_case(cases, "gelu_mul_sum_" + dtype_name, gelu_mul_sum(), [=] { return std::tuple(rows(), rows()); });
}

}  // namespace

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  std::vector<bench::Case> cases;
  add_cases(cases, "f32", pel::kF32);
  add_cases(cases, "bf16", pel::kBF16);
  return bench::serve(argc, argv, cases);
}

// The same calls as pointwise.cc in libtorch: inference mode, one thread.
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "../support/server.h"

namespace {

constexpr std::int64_t kRows = 8192, kColumns = 3072;

struct Inputs {
  explicit Inputs(at::ScalarType dtype)
      : dense(made(kRows, kColumns, dtype)),
        other(made(kRows, kColumns, dtype)),
        transposed(made(kColumns, kRows, dtype).t()),
        step2(made(kRows, 2 * kColumns, dtype).slice(1, 0, 2 * kColumns, 2)),
        row(made(1, kColumns, dtype)) {}

  static at::Tensor made(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return at::linspace(-4, 4, rows * columns).view({rows, columns}).to(dtype);
  }

  at::Tensor dense, other, transposed, step2, row;
};

using Unary = at::Tensor (*)(const at::Tensor&);
using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

void add_cases(std::vector<bench::Case>& cases, const char* name, const Inputs& in, Unary f) {
  const std::string prefix = name;
  cases.emplace_back(prefix + "_dense", [&in, f] { return f(in.dense); });
  cases.emplace_back(prefix + "_transposed", [&in, f] { return f(in.transposed); });
  cases.emplace_back(prefix + "_step2", [&in, f] { return f(in.step2); });
  cases.emplace_back(prefix + "_row", [&in, f] { return f(in.row.expand({kRows, kColumns})); });
}
void add_cases(std::vector<bench::Case>& cases, const char* name, const Inputs& in, Binary f) {
  const std::string prefix = name;
  cases.emplace_back(prefix + "_dense", [&in, f] { return f(in.dense, in.other); });
  cases.emplace_back(prefix + "_transposed", [&in, f] { return f(in.other, in.transposed); });
  cases.emplace_back(prefix + "_step2", [&in, f] { return f(in.step2, in.other); });
  cases.emplace_back(prefix + "_row", [&in, f] { return f(in.dense, in.row); });
}

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const Inputs f32(at::kFloat), bf16(at::kBFloat16);
  std::vector<bench::Case> cases;
  for (const auto& [suffix, in] : {std::pair{"_f32", &f32}, std::pair{"_bf16", &bf16}}) {
    const auto named = [&](const char* op) { return op + std::string(suffix); };
    add_cases(cases, named("gelu_tanh").c_str(), *in,
              [](const at::Tensor& x) { return at::gelu(x, "tanh"); });
    add_cases(cases, named("exp").c_str(), *in, [](const at::Tensor& x) { return at::exp(x); });
    add_cases(cases, named("tanh").c_str(), *in, [](const at::Tensor& x) { return at::tanh(x); });
    add_cases(cases, named("erf").c_str(), *in, [](const at::Tensor& x) { return at::erf(x); });
    add_cases(cases, named("mul").c_str(), *in,
              [](const at::Tensor& x, const at::Tensor& y) { return at::mul(x, y); });
    add_cases(cases, named("add").c_str(), *in,
              [](const at::Tensor& x, const at::Tensor& y) { return at::add(x, y); });
  }
  return bench::serve(argc, argv, cases);
}

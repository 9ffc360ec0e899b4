// Elementwise ops on a matrix larger than the caches, one thread, results from the allocator as in user code.
// The peer's half is peer_pointwise.torch.cc: keep the two identical line by line.
#include <string>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/server.h"

namespace {

constexpr std::int64_t kRows = 8192, kColumns = 3072;

struct Inputs {
  explicit Inputs(pel::DType dtype)
      : dense(made(kRows, kColumns, dtype)),
        other(made(kRows, kColumns, dtype)),
        transposed(made(kColumns, kRows, dtype).t()),
        step2(made(kRows, 2 * kColumns, dtype).slice(1, 0, 2 * kColumns, 2)),
        row(made(1, kColumns, dtype)) {}

  // The same numbers as the peer's.
  static pel::Tensor made(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    const pel::Tensor ramp = pel::linspace(-4, 4, rows * columns);
    return pel::to_copy(ramp.view({rows, columns}), dtype);
  }

  pel::Tensor dense, other, transposed, step2, row;
};

using Unary = pel::Tensor (*)(const pel::Tensor&);
using Binary = pel::Tensor (*)(const pel::Tensor&, const pel::Tensor&);

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
  pel::set_thread_count(1);
  const Inputs f32(pel::kF32), bf16(pel::kBF16);
  std::vector<bench::Case> cases;
  for (const auto& [suffix, in] : {std::pair{"_f32", &f32}, std::pair{"_bf16", &bf16}}) {
    const auto named = [&](const char* op) { return op + std::string(suffix); };
    add_cases(cases, named("gelu_tanh").c_str(), *in,
              [](const pel::Tensor& x) { return pel::gelu(x, pel::GeluApproximate::Tanh); });
    add_cases(cases, named("exp").c_str(), *in, [](const pel::Tensor& x) { return pel::exp(x); });
    add_cases(cases, named("tanh").c_str(), *in, [](const pel::Tensor& x) { return pel::tanh(x); });
    add_cases(cases, named("erf").c_str(), *in, [](const pel::Tensor& x) { return pel::erf(x); });
    add_cases(cases, named("mul").c_str(), *in,
              [](const pel::Tensor& x, const pel::Tensor& y) { return pel::mul(x, y); });
    add_cases(cases, named("add").c_str(), *in,
              [](const pel::Tensor& x, const pel::Tensor& y) { return pel::add(x, y); });
  }
  return bench::serve(argc, argv, cases);
}

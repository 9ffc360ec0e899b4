// The GeGLU MLP compiled: two kernels instead of five, for all sizes, with the same bits.
#include <cstring>
#include <iostream>

#include <pellucid/pellucid.h>

using namespace pel;

int main() {
  manual_seed(0);
  const NoGrad no_grad;  // gradients flow inside a compiled function, not out of it
  const nn::GEGLU mlp(512, 1408);
  const auto fast = compile(mlp);

  for (const int rows : {256, 1, 8}) {
    const Tensor x = randn({rows, 512});
    const Tensor expected = mlp(x), actual = fast(x);
    const auto bytes = static_cast<std::size_t>(expected.numel().value()) * sizeof(float);
    const bool same = std::memcmp(expected.raw_data(), actual.raw_data(), bytes) == 0;
    std::cout << rows << " rows: " << fast.kernels(x).size() << " kernels, the bits are "
              << (same ? "" : "not ") << "the same\n";
  }
  std::cout << fast.compiles() << " compile\n\n" << fast.graph() << '\n' << fast.explain();
}

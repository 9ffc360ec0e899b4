// A project outside of Pellucid's tree: docs/install.md.
#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  const pel::Tensor x = pel::arange(6, pel::kF32).view({2, 3});
  const auto fast = pel::compile([](const pel::Tensor& a) { return a.mul(2).sub(5).relu(); });
  std::cout << fast(x).sum(-1) << "\n";
}

// A first look: make a tensor, view it, copy it, and count the kernels that ran.
#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;

  Tensor x = arange(12, kF32).view({3, 4});
  std::cout << x << "\n";

  // Views share memory: no kernel runs, writes show through.
  const auto before = launch_count();
  Tensor corner = x.t()[{Slice(2, std::nullopt), Slice(0, 2)}];
  std::cout << corner << "\n" << launch_count() - before << " kernels for two views\n";

  corner.fill_(-1);
  std::cout << x << "\n" << launch_count() - before << " kernel for the fill\n";

  // An error names the op, the rule, the values and the line of the call.
  try {
    x.view({5, 3});
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}

// Gradients: record, run backward, and what an error says.
#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;

  const Tensor w = tensor({{1., 2.}, {3., 4.}}).requires_grad_();
  const Tensor x = tensor({1., -1.});
  const Tensor y = tanh(mv(w, x));
  sum(y).backward();
  std::cout << w.grad() << "\n";

  // A gradient of a gradient: the first backward pass is recorded, too.
  const Tensor z = tensor({2.}).requires_grad_();
  const Tensor slope = grad({pow(z, 3)}, {z}, {.create_graph = true})[0];
  std::cout << slope.item().to_double() << " and " << grad({slope}, {z})[0].item().to_double() << "\n";

  // A tensor that is saved for backward must not change before it is used.
  const Tensor a = exp(z), b = a * a;
  add_(a, 1);
  try {
    b.backward();
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}

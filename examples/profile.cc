// Guess first, then look: the GeGLU MLP is five kernels, and this is what they do.
#include <iostream>

#include <pellucid/pellucid.h>

using namespace pel;

int main(int argc, char** argv) {
  manual_seed(0);
  const Tensor x = randn({256, 512});
  const Tensor gate = randn({1408, 512}), up = randn({1408, 512}), down = randn({512, 1408});
  const auto mlp = [&] {
    const Tensor gated = gelu(linear(x, gate));
    return linear(mul(gated, linear(x, up)), down);
  };

  // Throws if the guess is wrong, with the launches in its message.
  expect_kernels(5, mlp);
  expect("gemm == 3; pointwise == 2; copies == 0; syncs == 0; bytes <= 22M", mlp);

  Profile profile;
  for (int i = 0; i < 3; ++i) mlp();
  std::cout << profile.table() << '\n' << profile.table(ProfileBy::Kernel);
  if (argc > 1) profile.write_trace(argv[1]);  // for `pellucid doctor`, or a viewer

  try {
    expect("kernels == 4", mlp);
  } catch (const ExpectationError& error) {
    std::cout << '\n' << error.what() << '\n';
  }
}

// Launches of tiny kernels on OpenCL, 100 a call: eager ones, and steps of a plan.
#include <cstdlib>

#include "queued_launches.h"

int main(int argc, char** argv) {
  setenv("PELLUCID_PASSES", "-fuse_pointwise,-fuse_rows", 0);  // a kernel for each call
  const pel::NoGrad no_grad;
  const pel::Tensor x = pel::ones({4, 4}, pel::kOpenCl), y = pel::ones({4, 4}, pel::kOpenCl);
  const auto fast = pel::compile([](const pel::Tensor& a, const pel::Tensor& b) {
    pel::Tensor sum = a;
    for (int i = 0; i < bench::kLaunches; ++i) sum = sum + b;
    return sum;
  });
  fast(x, y);
  if (fast.kernels(x, y).size() != bench::kLaunches) return 1;
  return bench::serve(
      argc, argv,
      {bench::eager_launches("eager"), bench::queued_launches("replayed", [=] { return fast(x, y); })});
}

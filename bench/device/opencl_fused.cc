// gelu(a) b as one compiled kernel on OpenCL, with the wait for it.
#include <pellucid/pellucid.h>

#include "../support/server.h"

int main(int argc, char** argv) {
  const pel::NoGrad no_grad;
  pel::manual_seed(1);
  const pel::Tensor a = pel::randn({8192, 3072}).to(pel::kOpenCl),
                    b = pel::randn({8192, 3072}).to(pel::kOpenCl);
  const auto fast = pel::compile([](const pel::Tensor& x, const pel::Tensor& y) {
    return pel::gelu(x, pel::GeluApproximate::Tanh) * y;
  });
  fast(a, b);
  if (fast.kernels(a, b).size() != 1) return 1;
  return bench::serve(argc, argv, {{"gelu_mul", [=] {
                                      const pel::Tensor result = fast(a, b);
                                      pel::synchronize(pel::kOpenCl);
                                      return result;
                                    }}});
}

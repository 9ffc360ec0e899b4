// Each channel by its own statistics in training, by the running ones outside.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "base/check.h"
#include "ops/shared/batch_norm.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor> legit_body(const Tensor& self, const std::optional<Tensor>& weight,
                                              const std::optional<Tensor>& bias,
                                              const std::optional<Tensor>& running_mean,
                                              const std::optional<Tensor>& running_var, Training training,
                                              double momentum, double eps) {
  if (training == Training::No) {
    PEL_CHECK(running_mean && running_var, ValueError,
              "outside training the running mean and variance are needed: pass both, or train");
    return internal::_native_batch_norm_legit_no_training(self, weight, bias, *running_mean, *running_var,
                                                          momentum, eps);
  }
  auto [result, mean, rstd, var] = internal::batch_norm_rows(self, weight, bias, eps);
  Dim count = self.sizes()[0];
  for (std::size_t i = 2; i < self.sizes().size(); ++i) count = count * self.sizes()[i];
  move_statistics(running_mean, running_var, mean, var, count, momentum);
  return {result, mean, rstd};
}

}  // namespace

namespace ops {
OpDef define__native_batch_norm_legit() {
  return define_op<legit_body>(
             OpKind::Composite,
             "_native_batch_norm_legit(Tensor self, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, "
             "Tensor(b!)? running_var, bool training, float momentum=0.1, float eps=1e-05) -> (Tensor, "
             "Tensor, "
             "Tensor)")
      .dtypes(kFloating)
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 2, 3}), s({2}), s({2}), Value(), Value(), true},
                           {s({2, 2, 3}), s({2}), s({2}), s({2}), s({2}, 0.5, 2), false}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, Training training,
    double momentum, double eps, Site site) {
  return call<"_native_batch_norm_legit", legit_body>(site, self, weight, bias, running_mean, running_var,
                                                      training, momentum, eps);
}
}  // namespace internal

}  // namespace pel

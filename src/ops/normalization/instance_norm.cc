// Each channel of each sample by its own statistics: batch_norm of one sample with all of their channels.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"
#include "pellucid/ops/reductions.h"

#include "base/check.h"
#include "ops/shared/batch_norm.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor instance_norm_body(const Tensor& self, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, UseInputStats use_input_stats,
                          double momentum, double eps) {
  check_channels(self);
  if (use_input_stats == UseInputStats::No) {
    PEL_CHECK(running_mean && running_var, ValueError,
              "without the input's own statistics the running mean and variance are needed: pass both");
    return batch_norm(self, weight, bias, running_mean, running_var, Training::No, momentum, eps);
  }
  const Dim samples = self.sizes()[0], channels = self.sizes()[1];
  Dim size = 1;
  for (std::size_t i = 2; i < self.sizes().size(); ++i) size = size * self.sizes()[i];
  const auto for_each_sample = [&](const std::optional<Tensor>& t) {
    return t ? std::optional(repeat(*t, {samples})) : std::nullopt;
  };
  const Tensor rows = reshape(self, {1, samples * channels, size});
  auto [result, mean, rstd, var] =
      internal::batch_norm_rows(rows, for_each_sample(weight), for_each_sample(bias), eps);
  if (running_mean || running_var) {
    const auto over_samples = [&](const Tensor& t) { return pel::mean(t.view({samples, channels}), {0}); };
    move_statistics(running_mean, running_var, over_samples(mean), over_samples(var), size, momentum);
  }
  return result.view(self.sizes());
}

}  // namespace

namespace ops {
OpDef define_instance_norm() {
  return define_op<instance_norm_body>(OpKind::Composite,
                                       "instance_norm(Tensor self, Tensor? weight=None, Tensor? bias=None, "
                                       "Tensor(a!)? running_mean=None, "
                                       "Tensor(b!)? running_var=None, bool use_input_stats=True, float "
                                       "momentum=0.1, float eps=1e-05) -> "
                                       "Tensor")
      .dtypes(kFloating);
}
}  // namespace ops

Tensor instance_norm(const Tensor& self, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, UseInputStats use_input_stats, double momentum,
                     double eps, Site site) {
  return call<"instance_norm", instance_norm_body>(site, self, weight, bias, running_mean, running_var,
                                                   use_input_stats, momentum, eps);
}

}  // namespace pel

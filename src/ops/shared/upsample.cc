#include "ops/shared/upsample.h"

#include "pellucid/ops.h"

#include "base/check.h"
#include "ops/shared/spatial.h"
#include "tensor/make.h"

namespace pel {

Tensor run_upsample(const Op& op, const Tensor& self, Dims output_size, const UpsampleNumbers& numbers) {
  PEL_CHECK(self.dim() == 4, ShapeError, "the input is [batch, channels, height, width]; {} has {} axes",
            describe(self), self.dim());
  PEL_CHECK(output_size.size() == 2, ValueError, "output_size has 2 numbers, not {}", output_size.size());
  DimVector sizes(self.sizes());
  for (std::size_t i = 1; i < 4; ++i)
    PEL_CHECK(sizes[i] >= 1, ShapeError, "only the batch may be empty; the input is {}", describe(self));
  for (std::size_t i = 0; i < 2; ++i) {
    PEL_CHECK(output_size[i] >= 1, ValueError, "output_size must be at least 1, not {}",
              to_string(output_size[i]));
    sizes[2 + i] = output_size[i];
  }
  // A scale that is not given, or not positive, follows from the sizes.
  const double scale_h = numbers.scales_h.value_or(0), scale_w = numbers.scales_w.value_or(0);
  const Tensor result = make_spatial(sizes, self, self.dtype());
  launch(op, {result}, {self},
         {static_cast<std::int64_t>(numbers.mode), static_cast<std::int64_t>(numbers.align_corners), scale_h,
          scale_w});
  return result;
}

Tensor upsample_gradient(const Vjp& v, const Resample& resample) {
  const Dims sizes = v.sizes("self"), given = v.grad().sizes();
  const std::optional<double> scales[] = {v.get<std::optional<double>>("scales_h"),
                                          v.get<std::optional<double>>("scales_w")};
  std::vector<Tensor> matrices;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim size = sizes[2 + i];
    const Tensor unit = eye(size, std::nullopt, {v.grad().dtype(), v.grad().device()});
    const Tensor image = resample(unit.view({1, 1, size, size}), {size, given[2 + i]}, scales[i]);
    matrices.push_back(image.view({size, given[2 + i]}).t());
  }
  return along_last_axes(v.grad(), matrices);
}

}  // namespace pel

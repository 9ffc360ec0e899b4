#include "ops/shared/batch_norm.h"

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {

void check_channels(const Tensor& self) {
  PEL_CHECK(self.dim() >= 2, ShapeError, "channels are axis 1; {} has no such axis", describe(self));
}

Affine::Affine(const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  const DType type = value_type(self.dtype());
  this->weight = weight ? vector_along(*weight, self, 1) : full({}, 1, {type, self.device()});
  this->bias = bias ? vector_along(*bias, self, 1) : full({}, 0, {type, self.device()});
}

void move_statistics(const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                     const Tensor& mean, const Tensor& var, Dim count, double momentum) {
  const NoGrad inside;  // what was seen, not how it came about
  const auto move = [momentum](const Tensor& running, const Tensor& seen) {
    PEL_CHECK(running.dim() == 1 && running.sizes()[0] == seen.sizes()[0], ShapeError,
              "running statistics are one number for each of {} channels, not {}", to_string(seen.sizes()[0]),
              describe(running));
    running.copy_(add(mul(running, 1 - momentum), seen, momentum));
  };
  if (running_mean) move(*running_mean, mean);
  // Over count - 1: what was seen is a sample.
  if (running_var) move(*running_var, div(mul(var, Scalar(count)), Scalar(count - 1)));
}

Tensor along_channels(const Tensor& vector, std::int64_t rank) {
  DimVector sizes(vector.sizes());
  for (std::int64_t i = 2; i < rank; ++i) sizes.push_back(1);
  return reshape(vector, sizes);
}

std::vector<std::int64_t> axes_except_channels(std::int64_t rank) {
  std::vector<std::int64_t> axes = {0};
  for (std::int64_t i = 2; i < rank; ++i) axes.push_back(i);
  return axes;
}

}  // namespace pel

// How many elements are in each of some equal intervals. If min and max are equal, the range is read from the
// elements, on the device: sizes do not depend on it.
#include <cmath>

#include "ops/shared/axis.h"

namespace pel {
namespace {

Tensor histc_body(const Op& op, const Tensor& self, std::int64_t bins, const Scalar& min, const Scalar& max) {
  PEL_CHECK(is_floating(self.dtype()), DTypeError, "floating elements are counted; an operand is {}",
            describe(self));
  PEL_CHECK(bins > 0, ValueError, "bins is {}; expected at least 1", bins);
  PEL_CHECK(
      std::isfinite(min.to_double()) && std::isfinite(max.to_double()) && min.to_double() <= max.to_double(),
      ValueError, "the range goes from {} to {}; expected finite numbers, min first", min.to_double(),
      max.to_double());
  Tensor result = make_dense({bins}, self.dtype(), self.device());
  launch(op, {result}, {row_major(self)}, {min, max});
  return result;
}

}  // namespace

namespace ops {
OpDef define_histc() {
  return define_op<histc_body>(OpKind::Kernel,
                               "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
      .dtypes(kFloating)
      .not_differentiable()
      .samples([](Sampler& s) {
        return SampleCalls{{s({5, 7}), Dim(6), Scalar(-1), Scalar(2)}, {s({40}), Dim(3)}};
      });
}
}  // namespace ops

Tensor histc(const Tensor& self, std::int64_t bins, const Scalar& min, const Scalar& max, Site site) {
  return call<"histc", histc_body>(site, self, bins, min, max);
}

}  // namespace pel

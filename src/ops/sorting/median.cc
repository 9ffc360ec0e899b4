// The lower of the two elements in the middle of all, sorted. NaN where an element is, and of no floating
// elements.
#include <limits>

#include "ops/shared/axis.h"

namespace pel {
namespace {

Tensor median_body(const Tensor& self) {
  if (self.numel() != 0) return std::get<0>(median_dim(reshape(self, {-1}), 0));
  PEL_CHECK(is_floating(self.dtype()), ValueError, "{} has no elements, and its dtype has no NaN to say so",
            describe(self));
  return full({}, std::numeric_limits<double>::quiet_NaN(), {self.dtype(), self.device()});
}

}  // namespace

namespace ops {
OpDef define_median() { return define_op<median_body>(OpKind::Composite, "median(Tensor self) -> Tensor"); }
}  // namespace ops

Tensor median(const Tensor& self, Site site) { return call<"median", median_body>(site, self); }

}  // namespace pel

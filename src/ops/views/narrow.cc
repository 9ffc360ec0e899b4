// `length` indices of an axis from `start`; unlike slice, the bounds must fit.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor narrow_body(const Tensor& self, std::int64_t axis, Dim start, Dim length) {
  PEL_CHECK(self.dim() > 0, ShapeError, "a tensor without axes cannot be narrowed");
  PEL_CHECK(length >= 0, ValueError, "the length {} is negative", to_string(length));
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Dim size = self.sizes()[at];
  PEL_CHECK(start >= -size && start <= size, IndexError, "start {} is out of range for axis {} of size {}",
            to_string(start), at, to_string(size));
  if (start < 0) start += size;
  PEL_CHECK(start + length <= size, ValueError, "{} indices from {} do not fit axis {} of size {}",
            to_string(length), to_string(start), at, to_string(size));
  return slice(self, axis, start, start + length, 1);
}

}  // namespace

namespace ops {
OpDef define_narrow() {
  return define_op<narrow_body>(OpKind::Composite,
                                "narrow(Tensor(a) self, int dim, Dim start, Dim length) -> Tensor(a)")
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(-1), Dim(1), Dim(2)}}; });
}
}  // namespace ops

Tensor narrow(const Tensor& self, std::int64_t axis, Dim start, Dim length, Site site) {
  return call<"narrow", narrow_body>(site, self, axis, start, length);
}
Tensor Tensor::narrow(std::int64_t axis, Dim start, Dim length, Site site) const {
  return pel::narrow(*this, axis, start, length, site);
}

}  // namespace pel

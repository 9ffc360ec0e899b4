// One number written everywhere.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "ops/shared/fill.h"

namespace pel {
namespace {

const Tensor& fill_body(const Tensor& self, const Scalar& value) {
  launch_fill(self, value);
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_fill_() {
  return define_op<fill_body>(OpKind::Kernel, "fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)")
      .repeated_writes()
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Scalar(2)}}; });
}
}  // namespace ops

const Tensor& fill_(const Tensor& self, const Scalar& value, Site site) {
  return call<"fill_", fill_body>(site, self, value);
}
const Tensor& Tensor::fill_(const Scalar& value, Site site) const { return pel::fill_(*this, value, site); }

}  // namespace pel

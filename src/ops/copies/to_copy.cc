// A cast copy, also where the dtype is the same already.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor to_copy_body(const Tensor& self, DType dtype) {
  Tensor result = make_like(self, dtype, self.device());
  launch(op<"copy_">(), {result}, {self});
  return result;
}

}  // namespace

namespace ops {
OpDef define_to_copy() {
  return define_op<to_copy_body>(OpKind::Kernel, "to_copy(Tensor self, DType dtype) -> Tensor")
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })  // cast to self's dtype, as any gradient
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), kF64}}; });
}
}  // namespace ops

Tensor to_copy(const Tensor& self, DType dtype, Site site) {
  return call<"to_copy", to_copy_body>(site, self, dtype);
}

}  // namespace pel

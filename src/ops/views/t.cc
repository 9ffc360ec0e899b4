// The axes of a matrix exchanged: a header, no kernel.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor t_body(const Tensor& self) {
  const std::int64_t rank = self.dim();
  PEL_CHECK(rank <= 2, ShapeError, "a tensor of rank 2 or less is expected, not {}; use transpose or permute",
            describe(self));
  if (rank < 2) return make_view(self, self.sizes(), self.strides());
  const Dim sizes[] = {self.sizes()[1], self.sizes()[0]};
  const Dim strides[] = {self.strides()[1], self.strides()[0]};
  return make_view(self, {sizes, 2}, {strides, 2});
}

}  // namespace

namespace ops {
OpDef define_t() {
  return define_op<t_body>(OpKind::Metadata, "t(Tensor(a) self) -> Tensor(a)")
      .vjp("self", "", [](const Vjp& v) { return t(v.grad()); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3})}}; });
}
}  // namespace ops

Tensor t(const Tensor& self, Site site) { return call<"t", t_body>(site, self); }
Tensor Tensor::t(Site site) const { return pel::t(*this, site); }

}  // namespace pel

// Each index of an axis as a tensor of its own.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::vector<Tensor> unbind_body(const Tensor& self, std::int64_t axis) {
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes cannot be unbound");
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const std::int64_t count = self.sizes()[at].value();
  PEL_CHECK(count >= 0, ShapeError, "axis {} of {} has a size below 0", axis, describe(self));
  DimVector sizes(self.sizes()), strides(self.strides());
  const Dim stride = strides[at];
  sizes.erase(at);
  strides.erase(at);
  std::vector<Tensor> result;
  result.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(make_view(self, sizes, strides, self.storage_offset() + stride * i));
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_unbind() {
  return define_op<unbind_body>(OpKind::Metadata, "unbind(Tensor(a) self, int dim=0) -> Tensor(a)[]")
      .vjp("self", "dim",
           [](const Vjp& v) {
             const auto axis = v.get<std::int64_t>("dim");
             const std::int64_t count = count_along(v.sizes("self"), {axis}).value();
             return stack(gradients_of(v, static_cast<std::size_t>(count)), axis);
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 2})}, {s({2, 3, 2}), Dim(-2)}}; });
}
}  // namespace ops

std::vector<Tensor> unbind(const Tensor& self, std::int64_t axis, Site site) {
  return call<"unbind", unbind_body>(site, self, axis);
}
std::vector<Tensor> Tensor::unbind(std::int64_t axis, Site site) const {
  return pel::unbind(*this, axis, site);
}

}  // namespace pel

// Two axes exchanged.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor transpose_body(const Tensor& self, std::int64_t axis0, std::int64_t axis1) {
  const auto a = static_cast<std::size_t>(wrap_axis(axis0, self.dim()));
  const auto b = static_cast<std::size_t>(wrap_axis(axis1, self.dim()));
  DimVector sizes(self.sizes()), strides(self.strides());
  if (!sizes.empty()) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  return make_view(self, sizes, strides);
}

}  // namespace

namespace ops {
OpDef define_transpose() {
  return define_op<transpose_body>(OpKind::Metadata,
                                   "transpose(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
      .vjp("self", "dim0 dim1",
           [](const Vjp& v) {
             return transpose(v.grad(), v.get<std::int64_t>("dim0"), v.get<std::int64_t>("dim1"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({2, 3, 4}), Dim(0), Dim(-1)}}; });
}
}  // namespace ops

Tensor transpose(const Tensor& self, std::int64_t axis0, std::int64_t axis1, Site site) {
  return call<"transpose", transpose_body>(site, self, axis0, axis1);
}
Tensor Tensor::transpose(std::int64_t axis0, std::int64_t axis1, Site site) const {
  return pel::transpose(*this, axis0, axis1, site);
}

}  // namespace pel

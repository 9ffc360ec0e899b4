// One index of an axis; the axis goes away.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor select_body(const Tensor& self, std::int64_t axis, Dim index) {
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes cannot be indexed; item() reads its value");
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Dim size = self.sizes()[at];
  PEL_CHECK(index >= -size && index < size, IndexError, "index {} is out of range for axis {} of size {}",
            to_string(index), at, to_string(size));
  if (index < 0) index += size;
  DimVector sizes(self.sizes()), strides(self.strides());
  const Dim offset = self.storage_offset() + index * strides[at];
  sizes.erase(at);
  strides.erase(at);
  return make_view(self, sizes, strides, offset);
}

}  // namespace

namespace ops {
OpDef define_select() {
  return define_op<select_body>(OpKind::Metadata, "select(Tensor(a) self, int dim, Dim index) -> Tensor(a)")
      .vjp("self", "dim index",
           [](const Vjp& v) {
             return placed(v, [&](const Tensor& whole) {
               return select(whole, v.get<std::int64_t>("dim"), v.get<Dim>("index"));
             });
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(1), Dim(-2)}}; });
}
}  // namespace ops

Tensor select(const Tensor& self, std::int64_t axis, Dim index, Site site) {
  return call<"select", select_body>(site, self, axis, index);
}
Tensor Tensor::select(std::int64_t axis, Dim index, Site site) const {
  return pel::select(*this, axis, index, site);
}

}  // namespace pel

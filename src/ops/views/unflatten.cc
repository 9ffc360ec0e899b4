// One axis made several.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor unflatten_body(const Tensor& self, std::int64_t axis, Dims sizes) {
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  PEL_CHECK(!sizes.empty(), ValueError, "at least one size is needed");
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes has none to unflatten");
  DimVector parts(sizes);
  infer_size(sizes, self.sizes()[at], parts.data());
  DimVector all;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (i != at) {
      all.push_back(self.sizes()[i]);
    } else {
      for (Dim part : parts) all.push_back(part);
    }
  }
  return view(self, all);
}

}  // namespace

namespace ops {
OpDef define_unflatten() {
  return define_op<unflatten_body>(OpKind::Composite,
                                   "unflatten(Tensor(a) self, int dim, Dim[] sizes) -> Tensor(a)");
}
}  // namespace ops

Tensor unflatten(const Tensor& self, std::int64_t axis, Dims sizes, Site site) {
  return call<"unflatten", unflatten_body>(site, self, axis, sizes);
}
Tensor Tensor::unflatten(std::int64_t axis, Dims sizes, Site site) const {
  return pel::unflatten(*this, axis, sizes, site);
}

}  // namespace pel

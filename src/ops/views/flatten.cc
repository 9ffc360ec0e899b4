// The axes from start to end, both included, made one.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor flatten_body(const Tensor& self, std::int64_t start, std::int64_t end) {
  const auto first = static_cast<std::size_t>(wrap_axis(start, self.dim()));
  const auto last = static_cast<std::size_t>(wrap_axis(end, self.dim()));
  PEL_CHECK(first <= last, ValueError, "start axis {} comes after end axis {}", start, end);
  if (self.dim() == 0) return reshape(self, {1});
  if (first == last) return self;
  DimVector sizes;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (i > first && i <= last) {
      sizes.back() *= self.sizes()[i];
    } else {
      sizes.push_back(self.sizes()[i]);
    }
  }
  return reshape(self, sizes);
}

}  // namespace

namespace ops {
OpDef define_flatten() {
  return define_op<flatten_body>(OpKind::Composite,
                                 "flatten(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)");
}
}  // namespace ops

Tensor flatten(const Tensor& self, std::int64_t start_axis, std::int64_t end_axis, Site site) {
  return call<"flatten", flatten_body>(site, self, start_axis, end_axis);
}
Tensor Tensor::flatten(std::int64_t start_axis, std::int64_t end_axis, Site site) const {
  return pel::flatten(*this, start_axis, end_axis, site);
}

}  // namespace pel

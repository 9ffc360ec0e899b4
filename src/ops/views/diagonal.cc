// The elements where two axes have the same index, as a last axis.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor diagonal_body(const Tensor& self, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const auto a = static_cast<std::size_t>(wrap_axis(axis1, self.dim()));
  const auto b = static_cast<std::size_t>(wrap_axis(axis2, self.dim()));
  PEL_CHECK(a != b, ValueError, "axis1 and axis2 are both {}", a);
  const auto least = [](Dim x, Dim y) { return x < y ? x : y; };
  DimVector sizes(self.sizes()), strides(self.strides());
  Dim length = offset >= 0 ? least(sizes[a], sizes[b] - offset) : least(sizes[a] + offset, sizes[b]);
  if (length < 0) length = 0;
  Dim first = self.storage_offset();
  if (length != 0) first += offset >= 0 ? strides[b] * offset : strides[a] * -offset;
  const Dim stride = strides[a] + strides[b];
  sizes.erase(std::max(a, b));
  sizes.erase(std::min(a, b));
  strides.erase(std::max(a, b));
  strides.erase(std::min(a, b));
  sizes.push_back(length);
  strides.push_back(stride);
  return make_view(self, sizes, strides, first);
}

}  // namespace

namespace ops {
OpDef define_diagonal() {
  return define_op<diagonal_body>(
             OpKind::Metadata, "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
      .vjp("self", "offset dim1 dim2",
           [](const Vjp& v) {
             return placed(v, [&](const Tensor& whole) {
               return diagonal(whole, v.get<std::int64_t>("offset"), v.get<std::int64_t>("dim1"),
                               v.get<std::int64_t>("dim2"));
             });
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4})}, {s({2, 3, 4}), Dim(1), Dim(-1), Dim(0)}, {s({3, 3}), Dim(-1)}};
      });
}
}  // namespace ops

Tensor diagonal(const Tensor& self, std::int64_t offset, std::int64_t axis1, std::int64_t axis2, Site site) {
  return call<"diagonal", diagonal_body>(site, self, offset, axis1, axis2);
}
Tensor Tensor::diagonal(std::int64_t offset, std::int64_t axis1, std::int64_t axis2, Site site) const {
  return pel::diagonal(*this, offset, axis1, axis2, site);
}

}  // namespace pel

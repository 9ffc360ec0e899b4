// Pieces of given sizes along one axis, which they make up.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::vector<Tensor> split_with_sizes_body(const Tensor& self, Dims split_sizes, std::int64_t axis) {
  PEL_CHECK(self.dim() > 0, ShapeError, "a tensor without axes cannot be split");
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  Dim total = 0;
  for (const Dim size : split_sizes) {
    PEL_CHECK(is_size(size), ValueError, "the size {} of a piece is negative", to_string(size));
    total = total + size;
  }
  PEL_CHECK(total == self.sizes()[at], ShapeError, "pieces of {} do not make up axis {} of {}",
            to_string(split_sizes), at, describe(self));
  std::vector<Tensor> result;
  DimVector sizes(self.sizes());
  Dim start = 0;
  for (const Dim size : split_sizes) {
    sizes[at] = size;
    result.push_back(
        make_view(self, sizes, self.strides(), self.storage_offset() + start * self.strides()[at]));
    start = start + size;
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_split_with_sizes() {
  return define_op<split_with_sizes_body>(
             OpKind::Metadata,
             "split_with_sizes(Tensor(a) self, Dim[] split_sizes, int dim=0) -> Tensor(a)[]")
      .vjp("self", "split_sizes dim",
           [](const Vjp& v) {
             return cat(gradients_of(v, v.get<Dims>("split_sizes").size()), v.get<std::int64_t>("dim"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({5, 2}), std::vector<Dim>{2, 0, 3}},
                           {s({2, 4}), std::vector<Dim>{1, 3}, Dim(-1)}};
      });
}
}  // namespace ops

std::vector<Tensor> split_with_sizes(const Tensor& self, Dims split_sizes, std::int64_t axis, Site site) {
  return call<"split_with_sizes", split_with_sizes_body>(site, self, split_sizes, axis);
}

}  // namespace pel

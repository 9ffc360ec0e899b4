// Pieces of a given size along one axis. How many there are depends on the size: a capture records it.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

// One empty piece of no elements.
std::int64_t count_pieces(Dim whole, Dim size) {
  return whole == 0 ? 1 : ((whole + size - 1) / size).value();
}

std::vector<Tensor> split_body(const Tensor& self, Dim size, std::int64_t axis) {
  PEL_CHECK(self.dim() > 0, ShapeError, "a tensor without axes cannot be split");
  PEL_CHECK(size >= 0, ValueError, "the size {} of a piece is negative", to_string(size));
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Dim whole = self.sizes()[at];
  PEL_CHECK(size > 0 || whole == 0, ValueError, "pieces of size 0 do not make up axis {} of size {}", at,
            to_string(whole));
  const std::int64_t pieces = count_pieces(whole, size);
  std::vector<Tensor> result;
  result.reserve(static_cast<std::size_t>(pieces));
  DimVector sizes(self.sizes());
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Dim start = size * i;
    sizes[at] = i + 1 < pieces ? size : whole - start;
    result.push_back(
        make_view(self, sizes, self.strides(), self.storage_offset() + start * self.strides()[at]));
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_split() {
  return define_op<split_body>(OpKind::Metadata,
                               "split(Tensor(a) self, Dim split_size, int dim=0) -> Tensor(a)[]")
      .vjp("self", "split_size dim",
           [](const Vjp& v) {
             const auto axis = v.get<std::int64_t>("dim");
             const Dims sizes = v.sizes("self");
             const auto at =
                 static_cast<std::size_t>(wrap_axis(axis, static_cast<std::int64_t>(sizes.size())));
             const std::int64_t pieces = count_pieces(sizes[at], v.get<Dim>("split_size"));
             return cat(gradients_of(v, static_cast<std::size_t>(pieces)), axis);
           })
      .samples([](Sampler& s) { return SampleCalls{{s({5, 2}), Dim(2)}, {s({2, 4}), Dim(2), Dim(-1)}}; });
}
}  // namespace ops

std::vector<Tensor> split(const Tensor& self, Dim split_size, std::int64_t axis, Site site) {
  return call<"split", split_body>(site, self, split_size, axis);
}
std::vector<Tensor> Tensor::split(Dim split_size, std::int64_t axis, Site site) const {
  return pel::split(*this, split_size, axis, site);
}

}  // namespace pel

// Vectors as the coordinates of a grid: each is repeated along the other axes by stride 0.
#include "pellucid/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::vector<Tensor> meshgrid_body(ArrayView<Tensor> tensors, std::string_view indexing) {
  PEL_CHECK(!tensors.empty(), ValueError, "there are no tensors to make a grid of");
  PEL_CHECK(indexing == "ij" || indexing == "xy", ValueError, "indexing is \"ij\" or \"xy\", not \"{}\"",
            indexing);
  const std::size_t rank = tensors.size();
  const auto axis_of = [&](std::size_t i) { return indexing == "xy" && rank > 1 && i < 2 ? 1 - i : i; };
  DimVector sizes(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Tensor& t = tensors[i];
    PEL_CHECK(t.dim() <= 1, ShapeError, "a vector or a tensor without axes is expected, not {}", describe(t));
    PEL_CHECK(t.dtype() == tensors[0].dtype(), DTypeError, "the tensors are {} and {}; convert one of them",
              describe(tensors[0]), describe(t));
    sizes[axis_of(i)] = t.dim() == 0 ? Dim(1) : t.sizes()[0];
  }
  std::vector<Tensor> grid;
  for (std::size_t i = 0; i < rank; ++i) {
    DimVector strides(rank);
    if (tensors[i].dim() == 1) strides[axis_of(i)] = tensors[i].strides()[0];
    grid.push_back(make_view(tensors[i], sizes, strides));
  }
  return grid;
}

}  // namespace

namespace ops {
OpDef define_meshgrid() {
  return define_op<meshgrid_body>(OpKind::Metadata,
                                  "meshgrid(Tensor(a)[] tensors, *, str indexing='ij') -> Tensor(a)[]");
}
}  // namespace ops

std::vector<Tensor> meshgrid(ArrayView<Tensor> tensors, std::string_view indexing, Site site) {
  return call<"meshgrid", meshgrid_body>(site, tensors, indexing);
}

}  // namespace pel

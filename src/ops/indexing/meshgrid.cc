// Vectors as the coordinates of a grid: each is repeated along the other axes by stride 0.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

// Along which tensor `i` lies.
std::size_t axis_of(std::size_t i, std::size_t rank, MeshgridIndexing indexing) {
  return indexing == MeshgridIndexing::Xy && rank > 1 && i < 2 ? 1 - i : i;
}

std::vector<Tensor> meshgrid_body(ArrayView<Tensor> tensors, MeshgridIndexing indexing) {
  PEL_CHECK(!tensors.empty(), ValueError, "there are no tensors to make a grid of");
  const std::size_t rank = tensors.size();
  DimVector sizes(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Tensor& t = tensors[i];
    PEL_CHECK(t.dim() <= 1, ShapeError, "a vector or a tensor without axes is expected, not {}", describe(t));
    PEL_CHECK(t.dtype() == tensors[0].dtype(), DTypeError, "the tensors are {} and {}; convert one of them",
              describe(tensors[0]), describe(t));
    sizes[axis_of(i, rank, indexing)] = t.dim() == 0 ? Dim(1) : t.sizes()[0];
  }
  std::vector<Tensor> grid;
  for (std::size_t i = 0; i < rank; ++i) {
    DimVector strides(rank);
    if (tensors[i].dim() == 1) strides[axis_of(i, rank, indexing)] = tensors[i].strides()[0];
    grid.push_back(make_view(tensors[i], sizes, strides));
  }
  return grid;
}

}  // namespace

namespace ops {
OpDef define_meshgrid() {
  return define_op<meshgrid_body>(OpKind::Metadata,
                                  "meshgrid(Tensor(a)[] tensors, *, str indexing='ij') -> Tensor(a)[]")
      .vjp("tensors", "indexing",
           [](const Vjp& v) {
             const std::size_t rank = v.count("tensors");
             std::vector<Tensor> grads(rank);
             for (std::size_t i = 0; i < rank; ++i) {
               if (!v.wants("tensors", i) || !v.has_grad(i)) continue;
               std::vector<std::int64_t> others;
               for (std::size_t axis = 0; axis < rank; ++axis) {
                 if (axis != axis_of(i, rank, v.get<MeshgridIndexing>("indexing")))
                   others.push_back(static_cast<std::int64_t>(axis));
               }
               const Tensor along = others.empty() ? v.grad(i) : sum(v.grad(i), others);
               grads[i] = reshape(along, v.sizes("tensors", i));
             }
             return grads;
           })
      .samples([](Sampler& s) {
        using List = std::vector<Tensor>;
        return SampleCalls{
            {List{s({2}), s({3}), s({})}}, {List{s({2}), s({3})}, std::string("xy")}, {List{s({2})}}};
      });
}
}  // namespace ops

std::vector<Tensor> meshgrid(ArrayView<Tensor> tensors, MeshgridIndexing indexing, Site site) {
  return call<"meshgrid", meshgrid_body>(site, tensors, indexing);
}

}  // namespace pel

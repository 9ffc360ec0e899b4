// Tensors joined along an axis. One of sizes [0] joins anything: it only takes part in the dtype.
#include <algorithm>

#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

// A vector without elements can be joined with any tensor. A symbolic size is only compared if ranks differ.
bool is_nothing(const Tensor& t, ArrayView<Tensor> all) {
  if (t.dim() != 1 || is_literally(t.sizes()[0], 0)) return t.dim() == 1;
  const bool is_odd =
      std::any_of(all.begin(), all.end(), [](const Tensor& other) { return other.dim() != 1; });
  return is_odd && t.sizes()[0] == 0;
}

Dim joined_size(const std::vector<TensorRef>& pieces, std::size_t axis) {
  const Tensor& first = *pieces[0].tensor;
  Dim size = 0;
  for (const TensorRef& piece : pieces) {
    const Tensor& t = *piece.tensor;
    PEL_CHECK(t.dim() == first.dim(), ShapeError, "the tensors have {} and {} axes: {} and {}", first.dim(),
              t.dim(), describe(first), describe(t));
    for (std::size_t i = 0; i < first.sizes().size(); ++i) {
      PEL_CHECK(i == axis || t.sizes()[i] == first.sizes()[i], ShapeError,
                "the tensors differ at axis {}, which is not the one joined: {} and {}", i, describe(first),
                describe(t));
    }
    size += t.sizes()[axis];
  }
  return size;
}

// Each piece is converted while it is copied.
void copy_pieces(const Tensor& result, const std::vector<TensorRef>& pieces, std::size_t axis) {
  Dim start = 0;
  for (const TensorRef& piece : pieces) {
    const Tensor& t = *piece.tensor;
    launch(op<"copy_">(),
           {make_view(result, t.sizes(), result.strides(),
                      result.storage_offset() + start * result.strides()[axis])},
           {t});
    start += t.sizes()[axis];
  }
}

Tensor cat_body(const Op& op, ArrayView<Tensor> tensors, std::int64_t dim) {
  PEL_CHECK(!tensors.empty(), ValueError, "there are no tensors to join");
  std::vector<TensorRef> pieces;
  pieces.reserve(tensors.size());
  DType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) {
    PEL_CHECK(t.dim() > 0, ShapeError, "a tensor without axes cannot be joined; stack makes an axis");
    dtype = promote_types(dtype, t.dtype());
    if (!is_nothing(t, tensors)) pieces.push_back(t);
  }
  if (pieces.empty()) pieces.push_back(tensors[0]);
  const Tensor& first = *pieces[0].tensor;
  const auto axis = static_cast<std::size_t>(wrap_axis(dim, first.dim()));
  DimVector sizes(first.sizes());
  sizes[axis] = joined_size(pieces, axis);
  Tensor result = make_dense(sizes, dtype, first.device());
  const bool alike = std::all_of(pieces.begin(), pieces.end(),
                                 [&](const TensorRef& t) { return t.tensor->dtype() == dtype; });
  if (alike) {
    launch(op, {result}, pieces, {Scalar(static_cast<std::int64_t>(axis))});
  } else {
    copy_pieces(result, pieces, axis);
  }
  return result;
}

std::vector<Tensor> pieces_of_gradient(const Vjp& v) {
  const auto axis = v.get<std::int64_t>("dim");
  std::vector<Tensor> pieces;
  Dim start = 0;
  for (std::size_t i = 0; i < v.count("tensors"); ++i) {
    const Dims sizes = v.sizes("tensors", i);
    if (sizes.size() == 1 && is_literally(sizes[0], 0)) {
      pieces.emplace_back();
      continue;
    }
    const Dim length = count_along(sizes, {axis});
    pieces.push_back(v.wants("tensors", i) ? narrow(v.grad(), axis, start, length) : Tensor());
    start += length;
  }
  return pieces;
}

}  // namespace

namespace ops {
OpDef define_cat() {
  return define_op<cat_body>(OpKind::Kernel, "cat(Tensor[] tensors, int dim=0) -> Tensor")
      .vjp("tensors", "dim", pieces_of_gradient)
      .samples([](Sampler& s) {
        using List = std::vector<Tensor>;
        return SampleCalls{{List{s({2, 3}), s({1, 3})}},
                           {List{s({2, 1}), s({0}), s.indices(3, {2, 2}), s({2, 3})}, Dim(-1)}};
      });
}
}  // namespace ops

Tensor cat(ArrayView<Tensor> tensors, std::int64_t axis, Site site) {
  return call<"cat", cat_body>(site, tensors, axis);
}

}  // namespace pel

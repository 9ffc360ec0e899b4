// The gradient of a table: each row of grad added to the row that its index names.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/pointwise.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor embedding_dense_backward_body(const Tensor& grad, const Tensor& indices, Dim rows,
                                     std::int64_t padding_idx, ScaleGradByFreq scale) {
  const Dim width = grad.sizes()[static_cast<std::size_t>(grad.dim()) - 1];
  const Tensor flat = indices.flatten();
  Tensor each = reshape(grad, {flat.sizes()[0], width});
  if (padding_idx >= 0) each = masked_fill(each, eq(flat, padding_idx).unsqueeze(1), 0);
  if (scale == ScaleGradByFreq::Yes) {
    const Tensor one = ones({}, {grad.dtype(), grad.device()});
    const Tensor counts =
        index_put(zeros({rows}, {grad.dtype(), grad.device()}), {flat}, one, Accumulate::Yes);
    each = div(each, index_select(counts, 0, flat).unsqueeze(1));
  }
  Tensor result = zeros({rows, width}, {grad.dtype(), grad.device()});
  index_put_(result, {flat}, each, Accumulate::Yes);
  return result;
}

}  // namespace

namespace ops {
OpDef define_embedding_dense_backward() {
  return define_op<embedding_dense_backward_body>(OpKind::Composite,
                                                  "embedding_dense_backward(Tensor grad, Tensor indices, Dim "
                                                  "num_weights, int padding_idx=-1, bool "
                                                  "scale_grad_by_freq=False) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 2}), s.indices(4, {2, 3}), Dim(4)},
                           {s({5, 2}), s.indices(3, {5}), Dim(3), Dim(1), true}};
      });
}
}  // namespace ops

namespace internal {
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, Dim rows, std::int64_t padding_idx,
                                ScaleGradByFreq scale, Site site) {
  return call<"embedding_dense_backward", embedding_dense_backward_body>(site, grad, indices, rows,
                                                                         padding_idx, scale);
}
}  // namespace internal

}  // namespace pel

// The gradient of the weights of samples in an embedding bag: the dot product of the gradient of its bag with
// its row of the table.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

#include "dispatch/op_table.h"
#include "ops/shared/embedding_bag.h"

namespace pel {
namespace {

Tensor embedding_bag_weights_backward_body(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                                           const Tensor& offsets, const Tensor& offset2bag, std::int64_t mode,
                                           std::int64_t padding_idx) {
  check_bag_mode(mode, grad);
  const Tensor bag =
      offset2bag.sizes()[0] == 0 ? bag_of_each(offsets, indices.sizes()[0]) : to(offset2bag, kI64);
  const Tensor products = mul(index_select(grad, 0, bag), embedding(weight, indices));
  const Tensor dots = sum(products, {1});
  return padding_idx < 0 ? dots : masked_fill(dots, eq(indices, padding_idx), 0);
}

}  // namespace

namespace ops {
OpDef define__embedding_bag_per_sample_weights_backward() {
  return define_op<embedding_bag_weights_backward_body>(
             OpKind::Composite,
             "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor "
             "offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor")
      .samples([](Sampler& s) {
        const Tensor offsets = from_data(std::vector<std::int64_t>{0, 2, 2}, {3});
        const Tensor none = from_data(std::vector<std::int64_t>{}, {0});
        return SampleCalls{{s({3, 2}), s({4, 2}), s.indices(4, {5}), offsets, none, Dim(0)},
                           {s({3, 2}), s({4, 2}), s.indices(4, {5}), offsets, none, Dim(0), Dim(1)}};
      });
}
}  // namespace ops

namespace internal {
Tensor _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight,
                                                  const Tensor& indices, const Tensor& offsets,
                                                  const Tensor& offset2bag, std::int64_t mode,
                                                  std::int64_t padding_idx, Site site) {
  return call<"_embedding_bag_per_sample_weights_backward", embedding_bag_weights_backward_body>(
      site, grad, weight, indices, offsets, offset2bag, mode, padding_idx);
}
}  // namespace internal

}  // namespace pel

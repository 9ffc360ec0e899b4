// The gradient of the table of an embedding bag. The bag of each index is found by the offsets if it was not
// saved.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/embedding_bag.h"

namespace pel {
namespace {

Tensor embedding_bag_backward_body(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                                   const Tensor& offset2bag, const Tensor& bag_size,
                                   const Tensor& maximum_indices, Dim num_weights,
                                   ScaleGradByFreq scale_grad_by_freq, std::int64_t mode, Sparse sparse,
                                   const std::optional<Tensor>& per_sample_weights,
                                   std::int64_t padding_idx) {
  PEL_CHECK(sparse == Sparse::No, ValueError, "there are no sparse tensors: pass sparse=False");
  const Tensor bag =
      offset2bag.sizes()[0] == 0 ? bag_of_each(offsets, indices.sizes()[0]) : to(offset2bag, kI64);
  return embedding_bag_gradient({grad, indices, bag, bag_size, maximum_indices, num_weights,
                                 scale_grad_by_freq, mode, per_sample_weights, padding_idx});
}

}  // namespace

namespace ops {
OpDef define__embedding_bag_backward() {
  return define_op<embedding_bag_backward_body>(
             OpKind::Composite,
             "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor "
             "bag_size, Tensor maximum_indices, Dim num_weights, bool scale_grad_by_freq, int mode, bool "
             "sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor")
      .samples([](Sampler& s) {
        const auto integers = [](std::vector<std::int64_t> values) {
          const Dim count = static_cast<std::int64_t>(values.size());
          return from_data(values, {count});
        };
        const Tensor offsets = integers({0, 2, 2}), none = integers({}), sizes = integers({2, 0, 3});
        const Tensor bags = integers({0, 0, 2, 2, 2});
        return SampleCalls{
            {s({3, 2}), s.indices(4, {5}), offsets, none, sizes, sizes, Dim(4), false, Dim(0), false, s({5})},
            {s({3, 2}), s.indices(4, {5}), offsets, bags, sizes, sizes, Dim(4), false, Dim(1), false, Value(),
             Dim(1)}};
      });
}
}  // namespace ops

namespace internal {
Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                               const Tensor& offset2bag, const Tensor& bag_size,
                               const Tensor& maximum_indices, Dim num_weights,
                               ScaleGradByFreq scale_grad_by_freq, std::int64_t mode, Sparse sparse,
                               const std::optional<Tensor>& per_sample_weights, std::int64_t padding_idx,
                               Site site) {
  return call<"_embedding_bag_backward", embedding_bag_backward_body>(
      site, grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq,
      mode, sparse, per_sample_weights, padding_idx);
}
}  // namespace internal

}  // namespace pel

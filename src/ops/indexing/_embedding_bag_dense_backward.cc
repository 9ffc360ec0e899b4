// The gradient of the table of an embedding bag, from the bag of each index.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "ops/shared/embedding_bag.h"

namespace pel {
namespace {

Tensor embedding_bag_dense_backward_body(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                                         const Tensor& bag_size, const Tensor& maximum_indices,
                                         Dim num_weights, ScaleGradByFreq scale_grad_by_freq,
                                         std::int64_t mode, const std::optional<Tensor>& per_sample_weights,
                                         std::int64_t padding_idx) {
  return embedding_bag_gradient({grad, indices, to(offset2bag, kI64), bag_size, maximum_indices, num_weights,
                                 scale_grad_by_freq, mode, per_sample_weights, padding_idx});
}

}  // namespace

namespace ops {
OpDef define__embedding_bag_dense_backward() {
  return define_op<embedding_bag_dense_backward_body>(
             OpKind::Composite,
             "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, "
             "Tensor maximum_indices, Dim num_weights, bool scale_grad_by_freq, int mode, Tensor? "
             "per_sample_weights, int padding_idx=-1) -> Tensor")
      .samples([](Sampler& s) {
        const auto integers = [](std::vector<std::int64_t> values) {
          const Dim count = static_cast<std::int64_t>(values.size());
          return from_data(values, {count});
        };
        const Tensor bags = integers({0, 0, 2, 2, 2}), sizes = integers({2, 0, 3});
        return SampleCalls{
            {s({3, 2}), s.indices(4, {5}), bags, sizes, sizes, Dim(4), true, Dim(0), s({5})},
            {s({3, 2}), s.indices(4, {5}), bags, sizes, sizes, Dim(4), false, Dim(1), Value(), Dim(1)},
            {s({3, 2}), s.indices(4, {5}), bags, sizes, s.indices(4, {3, 2}), Dim(4), false, Dim(2),
             Value()}};
      });
}
}  // namespace ops

namespace internal {
Tensor _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                                     const Tensor& bag_size, const Tensor& maximum_indices, Dim num_weights,
                                     ScaleGradByFreq scale_grad_by_freq, std::int64_t mode,
                                     const std::optional<Tensor>& per_sample_weights,
                                     std::int64_t padding_idx, Site site) {
  return call<"_embedding_bag_dense_backward", embedding_bag_dense_backward_body>(
      site, grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
      per_sample_weights, padding_idx);
}
}  // namespace internal

}  // namespace pel

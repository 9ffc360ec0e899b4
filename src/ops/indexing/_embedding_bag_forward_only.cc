// _embedding_bag for inference: the results that only gradients read have other sizes.
#include "dispatch/op_table.h"
#include "ops/shared/embedding_bag.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_forward_only_body(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, ScaleGradByFreq, std::int64_t mode,
    Sparse, const std::optional<Tensor>& per_sample_weights, IncludeLastOffset include_last_offset,
    std::int64_t padding_idx) {
  const BagResults r = run_embedding_bag(
      {weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx},
      SumSizes::OfOffsets);
  return {r.bags, r.offset2bag, r.bag_size, r.max_indices};
}

}  // namespace

namespace ops {
OpDef define__embedding_bag_forward_only() {
  return define_op<embedding_bag_forward_only_body>(
             OpKind::Composite,
             "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
             "scale_grad_by_freq=False, int "
             "mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
             "include_last_offset=False, int "
             "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)")
      .samples([](Sampler& s) {
        const Tensor offsets = from_data(std::vector<std::int64_t>{0, 2, 2}, {3});
        return SampleCalls{
            {s({4, 2}), s.indices(4, {5}), offsets, false, Dim(0), false, s({5})},
            {s({4, 2}), s.indices(4, {5}), offsets, false, Dim(1), false, Value(), false, Dim(1)},
            {s.apart({4, 2}), s.permuted(4), offsets, false, Dim(2)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag_forward_only(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, ScaleGradByFreq scale,
    std::int64_t mode, Sparse sparse, const std::optional<Tensor>& per_sample_weights,
    IncludeLastOffset include_last_offset, std::int64_t padding_idx, Site site) {
  return call<"_embedding_bag_forward_only", embedding_bag_forward_only_body>(
      site, weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset,
      padding_idx);
}
}  // namespace internal

}  // namespace pel

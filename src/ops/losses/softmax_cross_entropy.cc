// cross_entropy against classes, in one kernel forward and one backward.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/losses.h"

#include "dispatch/op_table.h"
#include "ops/shared/loss.h"
#include "tensor/layout.h"

namespace pel {
namespace {

Tensor softmax_cross_entropy_body(const Tensor& self, const Tensor& target, std::int64_t ignore_index) {
  return std::get<0>(internal::native_softmax_cross_entropy(self, target, ignore_index));
}

}  // namespace

namespace ops {
OpDef define_softmax_cross_entropy() {
  return define_op<softmax_cross_entropy_body>(
             OpKind::Composite,
             "softmax_cross_entropy(Tensor self, Tensor target, *, int ignore_index=-100) -> Tensor")
      .autocast(CastRule::Wide)
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .same_as(
          [](const std::vector<Value>& args) {
            return std::vector<Tensor>{cross_entropy(std::get<Tensor>(args[0]), std::get<Tensor>(args[1]),
                                                     std::nullopt, Reduction::Mean,
                                                     std::get<Dim>(args[2]).value())};
          },
          [](Sampler& s, Dims sizes) {
            DimVector rows{sizes[0]};
            for (std::size_t i = 2; i < sizes.size(); ++i) rows.push_back(sizes[i]);
            return std::vector<Value>{s(sizes), sample_targets(s, sizes[1], rows), Dim(1)};
          })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.indices(4, {3})}, {s({2, 3, 2}), s.indices(3, {2, 2}), Dim(1)}};
      });
}
}  // namespace ops

Tensor softmax_cross_entropy(const Tensor& self, const Tensor& target, std::int64_t ignore_index, Site site) {
  return call<"softmax_cross_entropy", softmax_cross_entropy_body>(site, self, target, ignore_index);
}

}  // namespace pel

// softmax_cross_entropy(linear(input, weight), target) over rows, without storing the logits.
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/losses.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/loss.h"
#include "tensor/layout.h"
#include "tensor/make.h"

namespace pel {
namespace {

// [rows, features] and [rows].
struct Matrices {
  Matrices(const Tensor& input, const Tensor& target) {
    const Dims sizes = input.sizes();
    const std::size_t last = sizes.size() - 1;
    bool fits = input.dim() >= 2 && target.dim() + 1 == input.dim();
    for (std::size_t i = 0; fits && i < last; ++i) fits = target.sizes()[i] == sizes[i];
    PEL_CHECK(
        fits, ShapeError,
        "there is one target for each row of the input: expected the sizes of {} without the last axis, "
        "not {}",
        describe(input), describe(target));
    const Dim rows = product(Dims(sizes.data(), last));
    matrix = last == 1 ? input : input.reshape({rows, sizes[last]});
    targets = last == 1 ? target : target.reshape({rows});
  }
  Tensor matrix, targets;
};

Tensor linear_cross_entropy_body(const Tensor& input, const Tensor& weight, const Tensor& target,
                                 std::int64_t ignore_index) {
  const Matrices given(input, target);
  return std::get<0>(
      internal::native_linear_cross_entropy(given.matrix, weight, given.targets, ignore_index));
}

Tensor linear_cross_entropy_parts(const Tensor& input, const Tensor& weight, const Tensor& target,
                                  std::int64_t ignore_index) {
  const Matrices given(input, target);
  return cross_entropy(linear(given.matrix, weight), given.targets, std::nullopt, Reduction::Mean,
                       ignore_index);
}

}  // namespace

namespace ops {
OpDef define_linear_cross_entropy() {
  return define_op<linear_cross_entropy_body>(
             OpKind::Composite,
             "linear_cross_entropy(Tensor input, Tensor weight, Tensor target, *, int ignore_index=-100) -> "
             "Tensor")
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .same_as(
          [](const std::vector<Value>& args) {
            return std::vector<Tensor>{
                linear_cross_entropy_parts(std::get<Tensor>(args[0]), std::get<Tensor>(args[1]),
                                           std::get<Tensor>(args[2]), std::get<Dim>(args[3]).value())};
          },
          [](Sampler& s, Dims sizes) {
            const std::size_t last = sizes.size() - 1;
            const Dim classes = sizes[last] % 97 + 3;
            return std::vector<Value>{s(sizes), s({classes, sizes[last]}),
                                      sample_targets(s, classes, Dims(sizes.data(), last)), Dim(1)};
          })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2}), s.indices(4, {3})},
                           {s({2, 2, 3}), s({3, 3}), s.indices(3, {2, 2}), Dim(1)}};
      });
}
}  // namespace ops

Tensor linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target,
                            std::int64_t ignore_index, Site site) {
  return call<"linear_cross_entropy", linear_cross_entropy_body>(site, input, weight, target, ignore_index);
}

}  // namespace pel

// 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1, 0 elsewhere.
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "ops/shared/loss.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor cosine_embedding_loss_body(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                  double margin, Reduction reduction) {
  check_reduction(reduction);
  PEL_CHECK(target.dim() <= 1 && input1.dim() == target.dim() + 1 && input2.dim() == input1.dim(), ShapeError,
            "two rows go with a target without axes, two matrices with a vector; not {} and {} with {}",
            describe(input1), describe(input2), describe(target));
  check_floating(input1);
  check_floating(input2);
  // As in PyTorch, which puts it under the root.
  constexpr double kEps = 1e-12;
  const auto along_rows = [](const Tensor& t) { return sum(t, {-1}); };
  const Tensor product = along_rows(mul(input1, input2));
  const Tensor size1 = add(along_rows(mul(input1, input1)), kEps);
  const Tensor size2 = add(along_rows(mul(input2, input2)), kEps);
  const Tensor cosine = div(product, sqrt(mul(size1, size2)));
  const Tensor apart = clamp_min(sub(cosine, margin), 0);
  const Tensor losses = add(where(eq(target, 1), rsub(cosine, 1), 0), where(eq(target, -1), apart, 0));
  return reduction == Reduction::None ? losses : reduction == Reduction::Sum ? sum(losses) : mean(losses);
}

}  // namespace

namespace ops {
OpDef define_cosine_embedding_loss() {
  return define_op<cosine_embedding_loss_body>(
             OpKind::Composite,
             "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str "
             "reduction='mean') -> Tensor")
      .autocast(CastRule::Wide)
      .dtypes(kFloating)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}), to(s.indices(2, {3}) * 2 - 1, kI64), 0.2},
                           {s({4}), s({4}), full({}, 1, kI64), 0.0, std::string("sum")}};
      });
}
}  // namespace ops

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             Reduction reduction, Site site) {
  return call<"cosine_embedding_loss", cosine_embedding_loss_body>(site, input1, input2, target, margin,
                                                                   reduction);
}

}  // namespace pel

// Normal with a mean and a standard deviation for each element.
#include "ops/shared/operands.h"
#include "ops/shared/random.h"

namespace pel {
namespace {

// The sizes that both broadcast to.
DimVector broadcast_sizes(const Tensor& a, const Tensor& b) {
  DimVector sizes(a.sizes());
  PEL_CHECK(!broadcast_clash(sizes, b.sizes()), ShapeError,
            "the sizes of the mean {} and the standard deviation {} do not broadcast", describe(a),
            describe(b));
  return sizes;
}

Tensor normal_body(const Op& op, const Tensor& mean, const Tensor& std, const std::optional<Scalar>& seed,
                   const std::optional<Scalar>& offset) {
  for (const Tensor* t : {&mean, &std})
    PEL_CHECK(is_floating(t->dtype()), DTypeError, "the op takes {}; an operand is {}", to_string(kFloating),
              describe(*t));
  const DType dtype = result_type({mean, std});
  Tensor result = make_dense(broadcast_sizes(mean, std), dtype, mean.device());
  const auto operand = [&](const Tensor& t) {
    Tensor same = t;
    if (t.dtype() != dtype) {
      same = make_like(t, dtype, t.device());
      launch(pel::op<"copy_">(), {same}, {t});
    }
    const Expanded wide = expand_layout(same.sizes(), same.strides(), result.sizes());
    return make_view(same, wide.sizes, wide.strides);
  };
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {result}, {operand(mean), operand(std)}, {stream.seed, stream.offset});
  return result;
}

}  // namespace

namespace ops {
OpDef define_normal() {
  return define_op<normal_body>(OpKind::Kernel,
                                "normal(Tensor mean, Tensor std, *, " PEL_STREAM_SCHEMA ") -> Tensor")
      .dtypes(kFloating)
      .not_differentiable();  // as in PyTorch: no gradient passes a sample
}
}  // namespace ops

Tensor normal(const Tensor& mean, const Tensor& std, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"normal", normal_body>(site, mean, std, draw.seed, draw.offset);
}
Tensor normal(double mean, double std, Dims size, TensorOptions options, Generator& generator, Site site) {
  return normal_(empty(size, options, site), mean, std, generator, site);
}

}  // namespace pel

// x1 x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis.
#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor cosine_similarity_body(const Op& op, const Tensor& x1, const Tensor& x2, std::int64_t axis,
                              double eps) {
  check_floating(x1);
  check_floating(x2);
  DimVector sizes(x1.sizes());
  PEL_CHECK(!broadcast_clash(sizes, x2.sizes()), ShapeError, "{} and {} do not broadcast", describe(x1),
            describe(x2));
  const Tensor first = broadcast_view(x1, sizes);
  const std::vector<PromotionOperand> operands = {x1, x2};
  return run_rows(op, {first, x2}, {result_type(operands), axis_set(first, axis)}, {eps})[0];
}

Term norm_of(Term squares, Term eps) { return max(sqrt(squares), eps); }

// With n = max(|x|, eps): x2 / (n1 n2) - cosine x1 / n1^2, the second where |x1| is not below eps; and the
// other way round.
std::vector<Tensor> gradient(const Vjp& v) {
  const std::int64_t axis = v.get<std::int64_t>("dim");
  const double least = v.get<double>("eps") * v.get<double>("eps");
  DimVector sizes(v["x1"].sizes());
  broadcast_clash(sizes, v["x2"].sizes());
  const Tensor x1 = expand(v["x1"], sizes), x2 = expand(v["x2"], sizes);
  const auto square_of = [&](const Tensor& x) { return sum(x * x, {axis}, KeepDims::Yes); };
  const Tensor square1 = square_of(x1), square2 = square_of(x2);
  const Tensor over1 = clamp_min(square1, least), over2 = clamp_min(square2, least);
  const Tensor grad = v.grad().unsqueeze(axis), cosine = v["result"].unsqueeze(axis);
  const Tensor straight = grad * rsqrt(over1) * rsqrt(over2), back = grad * cosine;
  return {straight * x2 - back * gt(square1, least) / over1 * x1,
          straight * x1 - back * gt(square2, least) / over2 * x2};
}

}  // namespace

namespace ops {
OpDef define_cosine_similarity() {
  return rows_op<cosine_similarity_body>(
             "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
      .inputs(2)
      .params({1e-8})
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[1]; })
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[0]; })
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[1] * t.in[1]; })
      .gives_value([](const RowTerms& t) {
        return t.values[0] / norm_of(t.values[1], t.numbers[0]) / norm_of(t.values[2], t.numbers[0]);
      })
      .max_ulp(4)
      .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
        long double product = 0, size = 0, a = 0, b = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          product += in[0][i] * in[1][i];
          size += std::abs(in[0][i] * in[1][i]);
          a += in[0][i] * in[0][i];
          b += in[1][i] * in[1][i];
        }
        const auto eps = static_cast<long double>(params[0]);
        const long double over = std::max(std::sqrt(a), eps) * std::max(std::sqrt(b), eps);
        return RowProgram::Wanted{product / over, 2 * size / over};
      })
      .vjp("x1 x2", "x1 x2 dim eps result", gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4})},
                           {s({2, 3, 2}), s({3, 1}), Dim(-2)},
                           {s({3, 4}), s({3, 4}, -0.1, 0.1), Dim(0), 0.5}};
      });
}
}  // namespace ops

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t axis, double eps, Site site) {
  return call<"cosine_similarity", cosine_similarity_body>(site, x1, x2, axis, eps);
}

}  // namespace pel

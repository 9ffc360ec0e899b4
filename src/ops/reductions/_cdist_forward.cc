// The distance of every row of one matrix from every row of another, by the p-norm.
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "ops/shared/operands.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

enum Program : std::size_t { kCount, kSum, kSquares, kMax, kPower };

// A view with an axis of size 1 before axis `at` from the end.
Tensor with_axis_before(const Tensor& t, std::size_t from_end) {
  DimVector sizes, strides;
  const std::size_t at = t.sizes().size() - from_end;
  for (std::size_t i = 0; i < t.sizes().size(); ++i) {
    if (i == at) {
      sizes.push_back(1);
      strides.push_back(0);
    }
    sizes.push_back(t.sizes()[i]);
    strides.push_back(t.strides()[i]);
  }
  return make_view(t, sizes, strides);
}

Tensor cdist_forward_body(const Op& op, const Tensor& x1, const Tensor& x2, double p,
                          std::optional<std::int64_t>) {
  check_floating(x1);
  PEL_CHECK(x1.dim() >= 2 && x2.dim() >= 2, ShapeError,
            "rows are of matrices, or batches of them, not {} and {}", describe(x1), describe(x2));
  PEL_CHECK(x1.dtype() == x2.dtype(), DTypeError, "{} and {} differ in dtype: convert one", describe(x1),
            describe(x2));
  PEL_CHECK(p >= 0, ValueError, "p is {}, and must not be negative", p);
  const Tensor rows = with_axis_before(x1, 1), columns = with_axis_before(x2, 2);
  DimVector sizes(rows.sizes());
  const bool fits = x1.sizes()[x1.sizes().size() - 1] == x2.sizes()[x2.sizes().size() - 1];
  PEL_CHECK(fits && !broadcast_clash(sizes, columns.sizes()), ShapeError,
            "{} and {} have no rows of one size in batches that broadcast", describe(x1), describe(x2));
  const Tensor first = broadcast_view(rows, sizes);
  const std::size_t program = p == 0          ? kCount
                              : p == 1        ? kSum
                              : p == 2        ? kSquares
                              : std::isinf(p) ? kMax
                                              : kPower;
  const RowsCall call{x1.dtype(), axis_set(first, std::int64_t{-1}), KeepDims::No, program};
  return run_rows(op, {first, columns}, call, {program == kPower ? p : 1.0})[0];
}

// How a distance grows with each difference. Nothing grows where the distance is 0.
Tensor slope(const Tensor& difference, const Tensor& distance, double p) {
  if (p == 1) return sign(difference);
  if (std::isinf(p)) return sign(difference) * eq(abs(difference), distance);
  const Tensor over = masked_fill(distance, eq(distance, 0), 1);
  if (p == 2) return difference / over;
  const Tensor part = pow(abs(difference) / over, p - 1);
  return sign(difference) * (p < 1 ? masked_fill(part, eq(difference, 0), 0) : part);
}

std::vector<Tensor> gradient(const Vjp& v) {
  const double p = v.get<double>("p");
  if (p == 0) return {zeros_like(v["x1"]), zeros_like(v["x2"])};
  const Tensor difference = v["x1"].unsqueeze(-2) - v["x2"].unsqueeze(-3);
  const Tensor each = v.grad().unsqueeze(-1) * slope(difference, v["result"].unsqueeze(-1), p);
  return {sum(each, {-2}), neg(sum(each, {-3}))};
}

Term distance(const RowTerms& t) { return abs(t.in[0] - t.in[1]); }

RowProgram::Wanted reference_of(const RowData& in, long double (*add)(long double, long double, double),
                                long double (*finish)(long double, double), double p) {
  long double folded = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) folded = add(folded, std::abs(in[0][i] - in[1][i]), p);
  return {finish(folded, p), 0};
}
long double as_is(long double x, double) { return x; }

}  // namespace

namespace ops {
OpDef define__cdist_forward() {
  return rows_op<cdist_forward_body>(
             "_cdist_forward(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor")
      .inputs(2)
      .params({3})
      .computes(kFloating)
      .values_in(value_type)
      .max_ulp(8)
      .fold(FoldKind::Sum,
            [](const RowTerms& t) {
              return select(distance(t) == 0.0, t.count.constant(0.0), t.count.constant(1.0));
            })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return reference_of(
            in, [](long double sum, long double d, double) { return sum + (d != 0 ? 1 : 0); }, as_is, 0);
      })
      .program("sum")
      .fold(FoldKind::Sum, distance)
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return reference_of(in, [](long double sum, long double d, double) { return sum + d; }, as_is, 1);
      })
      .program("squares")
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return distance(t) * distance(t); },
          [](const RowTerms& t) { return sqrt(t.values[0]); })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return reference_of(
            in, [](long double sum, long double d, double) { return sum + d * d; },
            [](long double sum, double) { return std::sqrt(sum); }, 2);
      })
      .program("max")
      .fold(FoldKind::Max, distance, [](const RowTerms& t) { return max(t.values[0], 0.0); })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return reference_of(
            in, [](long double most, long double d, double) { return std::max(most, d); }, as_is, 0);
      })
      .program("power")
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return pow(distance(t), t.numbers[0]); },
          [](const RowTerms& t) { return pow(t.values[0], 1 / t.numbers[0]); })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
        return reference_of(
            in,
            [](long double sum, long double d, double p) {
              return sum + std::pow(d, static_cast<long double>(p));
            },
            [](long double sum, double p) { return std::pow(sum, 1 / static_cast<long double>(p)); },
            params[0]);
      })
      .autocast(CastRule::Wide)
      .vjp("x1 x2", "x1 x2 p result", gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2})},
                           {s({2, 2, 3}), s({2, 3}), 1.0},
                           {s({2, 3}), s({3, 3}), std::numeric_limits<double>::infinity()},
                           {s({2, 3}), s({3, 3}), 3.0},
                           {s({2, 3}), s({3, 3}), 1.5}};
      });
}
}  // namespace ops

namespace internal {
Tensor _cdist_forward(const Tensor& x1, const Tensor& x2, double p, std::optional<std::int64_t> compute_mode,
                      Site site) {
  return call<"_cdist_forward", cdist_forward_body>(site, x1, x2, p, compute_mode);
}
}  // namespace internal

}  // namespace pel

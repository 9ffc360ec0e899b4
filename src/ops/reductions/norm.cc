// The p-norm over axes. The usual ones have programs of their own.
#include <limits>

#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

enum Program : std::size_t { kTwo, kOne, kZero, kMax, kMin, kAny };

std::size_t program_for(double p) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return p == 2            ? kTwo
         : p == 1          ? kOne
         : p == 0          ? kZero
         : p == kInfinity  ? kMax
         : p == -kInfinity ? kMin
                           : kAny;
}

Tensor norm_body(const Op& op, const Tensor& self, const Scalar& p, Axes axes, KeepDims keepdim,
                 std::optional<DType> dtype) {
  const DType compute = dtype ? *dtype : check_floating(self);
  const AxisSet reduced = axis_set(self, axes);
  const std::size_t program = program_for(p.to_double());
  if (program == kMax || program == kMin) check_not_empty(self, reduced, false);
  return run_rows(op, {self}, {compute, reduced, keepdim, program}, {p, 1 / p.to_double()})[0];
}

Term size_of(const RowTerms& t) { return abs(t.in[0]); }

// As PyTorch has it: 0 where the norm is 0.
Tensor norm_gradient(const Vjp& v) {
  const double p = v.get<Scalar>("p").to_double();
  const auto axes = v.get<Axes>("dim");
  const auto keepdim = v.get<KeepDims>("keepdim");
  const Tensor& self = v["self"];
  const Tensor grad = with_axes_kept(v.grad(), self.sizes(), axes, keepdim);
  const Tensor norm = with_axes_kept(v["result"], self.sizes(), axes, keepdim);
  const Tensor is_zero = eq(norm, 0);
  switch (program_for(p)) {
    case kZero:
      return zeros_like(self);
    case kOne:
      return sgn(self) * grad;
    case kTwo:
      return self * masked_fill(grad / norm, is_zero, 0);
    case kMax:
    case kMin:
      return sgn(self) * shared_by_equals(grad, abs(self), norm, axes, KeepDims::Yes);
    default:
      break;
  }
  // |x|^(p - 1) with the sign of x; for p below 1 it has a pole at 0.
  const Tensor powers = p < 2 ? sgn(self) * pow(abs(self), p - 1) : self * pow(abs(self), p - 2);
  const Tensor finite = p < 1 ? masked_fill(powers, eq(self, 0), 0) : powers;
  return finite * masked_fill(grad * pow(norm, 1 - p), is_zero, 0);
}

}  // namespace

namespace ops {
OpDef define_norm() {
  return rows_op<norm_body>(
             "norm(Tensor self, Scalar p=2, int[] dim=[], bool keepdim=False, *, DType? "
             "dtype=None) -> Tensor")
      .computes(kFloating)
      .values_in(value_type)
      .params({2, 0.5})
      .max_ulp(3)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[0]; },
          [](const RowTerms& t) { return sqrt(t.values[0]); })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
        long double sum = 0;
        for (const long double x : in[0])
          sum += params[0] == 0 ? static_cast<long double>(x != 0)
                                : std::pow(std::abs(x), static_cast<long double>(params[0]));
        return RowProgram::Wanted{
            params[0] == 0 ? sum : std::pow(sum, 1 / static_cast<long double>(params[0])), 0};
      })
      .program("1")
      .params({1, 1})
      .fold(FoldKind::Sum, size_of)
      .gives_value(first_value)
      .program("0")
      .params({0, 0})
      .fold(FoldKind::Sum,
            [](const RowTerms& t) { return cast(t.in[0] != t.in[0].constant(0), t.in[0].type()); })
      .gives_value(first_value)
      .program("max")
      .params({1, 1})
      .refuses_empty()
      .fold(FoldKind::Max, size_of)
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double largest = 0;
        for (const long double x : in[0]) largest = std::max(largest, std::abs(x));
        return RowProgram::Wanted{largest, 0};
      })
      .program("min")
      .fold(FoldKind::Min, size_of)
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double least = std::numeric_limits<long double>::infinity();
        for (const long double x : in[0]) least = std::min(least, std::abs(x));
        return RowProgram::Wanted{least, 0};
      })
      .program("p")
      .params({3, 1.0 / 3})
      .takes_empty()
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return pow(abs(t.in[0]), t.numbers[0]); },
          [](const RowTerms& t) { return pow(t.values[0], t.numbers[1]); })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double sum = 0;
        for (const long double x : in[0]) sum += std::abs(x * x * x);
        return RowProgram::Wanted{std::cbrt(sum), 0};
      })
      .vjp("self", "self result p dim keepdim", norm_gradient)
      .samples([](Sampler& s) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return SampleCalls{{s({2, 3})},
                           {s({3, 4}), Scalar(1), std::vector<Dim>{1}, true},
                           {s({3, 2}), Scalar(0), std::vector<Dim>{0}},
                           {s.apart({3, 4}), Scalar(kInfinity), std::vector<Dim>{-1}},
                           {s.apart({3, 4}), Scalar(-kInfinity)},
                           {s({3, 2}), Scalar(0.5), std::vector<Dim>{1}},
                           {s({3, 2}), Scalar(1.5), std::vector<Dim>{1}},
                           {s({2, 3, 2}), Scalar(3), std::vector<Dim>{0, 2}}};
      });
}
}  // namespace ops

Tensor norm(const Tensor& self, const Scalar& p, Axes axes, KeepDims keepdim, std::optional<DType> dtype,
            Site site) {
  return call<"norm", norm_body>(site, self, p, axes, keepdim, dtype);
}

}  // namespace pel

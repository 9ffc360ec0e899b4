// self ^ exponent. Of integers modulo 2^width; to a negative exponent 0, but for 1 and -1.
#include "base/check.h"
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"
#include "tensor/element.h"

namespace pel {
namespace {

// By the bits of the exponent. Those of a negative one give the right sign for a base of 1 or -1.
Term power_of_integers(Term base, Term exponent) {
  const bool is_signed = base.type() != kU8;
  const std::int64_t bits = 8 * size_bytes(base.type()) - (is_signed ? 1 : 0);
  Term result = base.constant(1);
  Term power = base;
  for (std::int64_t k = 0; k < bits; ++k) {
    if (k > 0) power = power * power;
    const Term is_set = (exponent & (std::int64_t{1} << k)) != 0;
    result = k == 0 ? select(is_set, base, 1) : select(is_set, result * power, result);
  }
  if (!is_signed) return result;
  return select((exponent < 0) & (abs(base) != 1), 0, result);
}

// Exponents that have an op of their own: cheaper, rounded better, and defined at -0 and -inf as PyTorch
// has it.
struct SimplePower {
  double exponent;
  const Op& (*op)();
  DTypeSet dtypes;
};
constexpr SimplePower kSimplePowers[] = {
    {2, op<"square">, kFloating | kIntegral},
    {0.5, op<"sqrt">, kFloating},
    {-0.5, op<"rsqrt">, kFloating},
    {-1, op<"reciprocal">, kFloating},
};

// The op that serves a number as exponent, or null.
const Op* simple_power(const Tensor& self, const Tensor& exponent) {
  if (!exponent.header()->is_number || !exponent.has_data()) return nullptr;
  const Scalar number = load_element(exponent.dtype(), exponent.raw_data());
  if (!number.is_float() && !is_floating(self.dtype())) {
    PEL_CHECK(number.to_int() >= 0, ValueError, "an integer has no power with the negative exponent {}",
              to_string(number));
    if (self.dtype() != kBool) check_fits(self.dtype(), number);
  }
  if (number.is_float() && !is_floating(self.dtype())) return nullptr;  // the result has another dtype
  for (const SimplePower& simple : kSimplePowers) {
    if (number.to_double() == simple.exponent && simple.dtypes.contains(self.dtype())) return &simple.op();
  }
  return nullptr;
}

Tensor pow_body(const Op& op, const Tensor& self, const Tensor& exponent) {
  if (const Op* simple = simple_power(self, exponent)) return run_pointwise(*simple, {self});
  return run_pointwise(op, {self, exponent});
}
const Tensor& pow_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& exponent) {
  if (const Op* simple = simple_power(self, exponent)) return run_pointwise_into(*simple, out, {self});
  return run_pointwise_into(op, out, {self, exponent});
}
const Tensor& pow_in_place(const Op& op, const Tensor& self, const Tensor& exponent) {
  return pow_out_body(op, self, self, exponent);
}

// exponent base^(exponent - 1), and 0 where the exponent is 0.
Tensor base_gradient(const Vjp& v) {
  const Tensor &base = v["self"], &exponent = v["exponent"];
  if (exponent.header()->is_number && exponent.has_data()) {
    const Scalar number = load_element(exponent.dtype(), exponent.raw_data());
    if (number.to_double() == 0) return zeros_like(v.grad());
    const Scalar less = number.is_float() ? Scalar(number.to_double() - 1) : Scalar(number.to_int() - 1);
    return v.grad() * (number * (number.to_double() == 2 ? base : pow(base, less)));
  }
  const Tensor other = as_tensor_for(v.grad(), exponent);
  return v.grad() * masked_fill(other * pow(base, other - 1), eq(other, 0), 0);
}

}  // namespace

namespace ops {
OpDef define_pow() {
  return pointwise<pow_body, pow_in_place, pow_out_body>("pow(Tensor self, Tensor exponent) -> Tensor", 2, 0)
      .computes(kFloating | kIntegral)
      .formula([](Term a, Term b) { return is_floating(a.type()) ? pow(a, b) : power_of_integers(a, b); })
      .reference([](auto a, auto b) { return std::pow(a, b); })
      .reference_int([](WideInt a, WideInt b) {
        if (b < 0) return WideInt(a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0);
        __extension__ unsigned __int128 result = 1, power = static_cast<unsigned __int128>(a);
        for (; b > 0; b /= 2, power *= power) {
          if (b % 2 != 0) result *= power;
        }
        return static_cast<WideInt>(result);
      })
      .max_ulp(1, 1.25)
      .domain(-10, 30)
      .domain(-20, 25)
      .vjp("self", "self exponent", base_gradient)
      .vjp("exponent", "self exponent result",
           [](const Vjp& v) {
             const Tensor base = as_tensor_for(v.grad(), v["self"], v["result"].dtype());
             const Tensor is_flat = logical_and(eq(base, 0), ge(v["exponent"], 0));
             // In the dtype of the result: of an integer base, log would compute in f32.
             return v.grad() * masked_fill(v["result"] * log(base.to(v["result"].dtype())), is_flat, 0);
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}, 0.5, 2), s({4})}}; });
}
}  // namespace ops

PEL_DEFINE_BINARY_BY(pow, pow_body, pow_in_place, pow_out_body)
Tensor pow(const Scalar& self, const Tensor& exponent, Site site) {
  return pel::pow(new_number(exponent, self), exponent, site);
}
const Tensor& pow_out(const Tensor& out, const Scalar& self, const Tensor& exponent, Site site) {
  return pel::pow_out(out, new_number(exponent, self), exponent, site);
}

}  // namespace pel

// Pointwise ops. Names, semantics and type promotion are PyTorch's; sizes broadcast.
//
// Each line below declares the forms of one op:
//   PEL_UNARY(exp)   Tensor exp(self);  exp_(self), which changes self;  exp_out(out, self)
//   PEL_BINARY(add)  the same with a second argument, a tensor or a number
// Kinds of result: "floating" ops compute integers and bool in f32; comparisons and predicates give bool.
#pragma once

#include <optional>
#include <string_view>

#include "pellucid/tensor.h"

namespace pel {

#define PEL_UNARY_PLAIN(name) PEL_API Tensor name(const Tensor& self, Site site = Site::current());
#define PEL_UNARY_OUT(name) \
  PEL_UNARY_PLAIN(name)     \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, Site site = Site::current());
#define PEL_UNARY(name) \
  PEL_UNARY_OUT(name)   \
  PEL_API const Tensor& name##_(const Tensor& self, Site site = Site::current());
#define PEL_BINARY_PLAIN(name)                                                               \
  PEL_API Tensor name(const Tensor& self, const Tensor& other, Site site = Site::current()); \
  PEL_API Tensor name(const Tensor& self, const Scalar& other, Site site = Site::current());
#define PEL_BINARY_OUT(name)                                                                   \
  PEL_BINARY_PLAIN(name)                                                                       \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other, \
                                   Site site = Site::current());                               \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, const Scalar& other, \
                                   Site site = Site::current());
#define PEL_BINARY(name)                                                                               \
  PEL_BINARY_OUT(name)                                                                                 \
  PEL_API const Tensor& name##_(const Tensor& self, const Tensor& other, Site site = Site::current()); \
  PEL_API const Tensor& name##_(const Tensor& self, const Scalar& other, Site site = Site::current());

// Arithmetic. Sums and differences take a factor for one operand; bool is not subtracted. In maximum and
// minimum NaN wins, in fmax and fmin the other operand does.
PEL_API Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                   Site site = Site::current());  // self + alpha * other
PEL_API Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                   Site site = Site::current());
PEL_API const Tensor& add_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& add_(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                   Site site = Site::current());  // self - alpha * other
PEL_API Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                   Site site = Site::current());
PEL_API const Tensor& sub_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& sub_(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                    Site site = Site::current());  // other - alpha * self
PEL_API Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                    Site site = Site::current());
PEL_BINARY(mul)
// self / other: floating; with rounding_mode "floor" or "trunc" an integer stays one, and an integer 0
// divides with an error, as in the four ops below.
PEL_API Tensor div(const Tensor& self, const Tensor& other,
                   std::optional<std::string_view> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API Tensor div(const Tensor& self, const Scalar& other,
                   std::optional<std::string_view> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API Tensor div(const Scalar& self, const Tensor& other,
                   std::optional<std::string_view> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API const Tensor& div_(const Tensor& self, const Tensor& other,
                           std::optional<std::string_view> rounding_mode = std::nullopt,
                           Site site = Site::current());
PEL_API const Tensor& div_(const Tensor& self, const Scalar& other,
                           std::optional<std::string_view> rounding_mode = std::nullopt,
                           Site site = Site::current());
PEL_API const Tensor& div_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              std::optional<std::string_view> rounding_mode = std::nullopt,
                              Site site = Site::current());
PEL_API const Tensor& div_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              std::optional<std::string_view> rounding_mode = std::nullopt,
                              Site site = Site::current());
PEL_BINARY(floor_divide)  // rounded down
PEL_BINARY(trunc_divide)  // rounded towards zero
PEL_BINARY(remainder)     // of floor_divide: the sign of other
PEL_BINARY(fmod)          // of trunc_divide: the sign of self
PEL_BINARY(pow)           // integers modulo 2^width; a negative number as their exponent is refused
PEL_API Tensor pow(const Scalar& self, const Tensor& exponent, Site site = Site::current());
PEL_API const Tensor& pow_out(const Tensor& out, const Scalar& self, const Tensor& exponent,
                              Site site = Site::current());
PEL_BINARY(float_power)  // pow in f64
PEL_API Tensor float_power(const Scalar& self, const Tensor& exponent, Site site = Site::current());
PEL_API const Tensor& float_power_out(const Tensor& out, const Scalar& self, const Tensor& exponent,
                                      Site site = Site::current());
PEL_BINARY_OUT(maximum)
PEL_BINARY_OUT(minimum)
PEL_BINARY_OUT(fmax)
PEL_BINARY_OUT(fmin)
PEL_BINARY(atan2)           // the angle of (other, self); floating
PEL_BINARY(hypot)           // sqrt(self^2 + other^2)
PEL_BINARY(copysign)        // floating
PEL_BINARY(nextafter)       // f32 and f64
PEL_BINARY(ldexp)           // self * 2^other; floating
PEL_BINARY_OUT(logaddexp)   // log(e^self + e^other)
PEL_BINARY_OUT(logaddexp2)  // log2(2^self + 2^other)
PEL_BINARY(xlogy)           // self * log(other), 0 where self is 0; floating
PEL_BINARY_OUT(xlog1py)     // self * log(1 + other), 0 where self is 0; floating
PEL_BINARY(heaviside)       // 0 below zero, 1 above, other at zero

// Comparisons, giving bool. In place, self keeps its dtype and holds 0 and 1.
PEL_BINARY(eq)
PEL_BINARY(ne)
PEL_BINARY(lt)
PEL_BINARY(le)
PEL_BINARY(gt)
PEL_BINARY(ge)

// Logic on "is not zero", giving bool.
PEL_BINARY(logical_and)
PEL_BINARY(logical_or)
PEL_BINARY(logical_xor)
PEL_UNARY(logical_not)

// Bits of integers and bool. Shifts take integers, and shift everything out by an amount outside of the
// width.
PEL_BINARY(bitwise_and)
PEL_BINARY(bitwise_or)
PEL_BINARY(bitwise_xor)
PEL_UNARY(bitwise_not)
PEL_BINARY(bitwise_left_shift)
PEL_BINARY(bitwise_right_shift)

// Choice and blending. Conditions and masks are bool.
PEL_API Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other,
                     Site site = Site::current());
PEL_API Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other,
                     Site site = Site::current());
PEL_API Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other,
                     Site site = Site::current());
PEL_API Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other,
                     Site site = Site::current());
PEL_API const Tensor& where_out(const Tensor& out, const Tensor& condition, const Tensor& self,
                                const Tensor& other, Site site = Site::current());
// The value, a number or a tensor without axes, is converted to self's dtype.
PEL_API Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value,
                           Site site = Site::current());
PEL_API Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value,
                           Site site = Site::current());
PEL_API const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Scalar& value,
                                   Site site = Site::current());
PEL_API const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Tensor& value,
                                   Site site = Site::current());
PEL_API const Tensor& masked_fill_out(const Tensor& out, const Tensor& self, const Tensor& mask,
                                      const Scalar& value, Site site = Site::current());
// At least min, then at most max; one of them may be left out. NaN in any of the three gives NaN.
PEL_API Tensor clamp(const Tensor& self, const std::optional<Scalar>& min,
                     const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API Tensor clamp(const Tensor& self, const std::optional<Tensor>& min,
                     const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_(const Tensor& self, const std::optional<Scalar>& min,
                             const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_(const Tensor& self, const std::optional<Tensor>& min,
                             const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
                                const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Tensor>& min,
                                const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_BINARY(clamp_min)
PEL_BINARY(clamp_max)
// self + weight * (end - self).
PEL_API Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight, Site site = Site::current());
PEL_API Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight, Site site = Site::current());
PEL_API const Tensor& lerp_(const Tensor& self, const Tensor& end, const Tensor& weight,
                            Site site = Site::current());
PEL_API const Tensor& lerp_(const Tensor& self, const Tensor& end, const Scalar& weight,
                            Site site = Site::current());
PEL_API const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight,
                               Site site = Site::current());
PEL_API const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Scalar& weight,
                               Site site = Site::current());
// self + value * tensor1 * tensor2.
PEL_API Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcmul_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                               const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcmul_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                  const Tensor& tensor2, const Scalar& value = 1,
                                  Site site = Site::current());
// self + value * tensor1 / tensor2.
PEL_API Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcdiv_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                               const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcdiv_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                  const Tensor& tensor2, const Scalar& value = 1,
                                  Site site = Site::current());

// Arithmetic with one argument. sqrt, rsqrt and reciprocal are floating.
PEL_UNARY(neg)
PEL_UNARY(abs)
PEL_UNARY(sign)  // -1, 0 or 1; 0 for NaN
PEL_UNARY(sgn)   // sign
PEL_UNARY(square)
PEL_UNARY(sqrt)
PEL_UNARY(rsqrt)       // 1 / sqrt(x)
PEL_UNARY(reciprocal)  // 1 / x

// Rounding. Integers stay as they are.
PEL_UNARY(floor)
PEL_UNARY(ceil)
PEL_UNARY(trunc)
PEL_UNARY(frac)  // x - trunc(x), floating dtypes only
// Halves to even; decimals count digits behind the point, or in front of it where negative.
PEL_API Tensor round(const Tensor& self, std::int64_t decimals = 0, Site site = Site::current());
PEL_API const Tensor& round_(const Tensor& self, std::int64_t decimals = 0, Site site = Site::current());
PEL_API const Tensor& round_out(const Tensor& out, const Tensor& self, std::int64_t decimals = 0,
                                Site site = Site::current());

// Exponentials and logarithms, floating.
PEL_UNARY(exp)   // e^x
PEL_UNARY(exp2)  // 2^x
PEL_UNARY(expm1)
PEL_UNARY(log)
PEL_UNARY(log2)
PEL_UNARY(log10)
PEL_UNARY(log1p)
PEL_UNARY_OUT(entr)  // -x ln x

// Trigonometric, floating.
PEL_UNARY(sin)
PEL_UNARY(cos)
PEL_UNARY(tan)
PEL_UNARY(asin)
PEL_UNARY(acos)
PEL_UNARY(atan)
PEL_UNARY(sinc)  // sin(pi x) / (pi x)
PEL_UNARY(deg2rad)
PEL_UNARY(rad2deg)

// Hyperbolic, floating.
PEL_UNARY(sinh)
PEL_UNARY(cosh)
PEL_UNARY(tanh)
PEL_UNARY(asinh)
PEL_UNARY(acosh)
PEL_UNARY(atanh)

// Error function and its relatives, floating.
PEL_UNARY(erf)
PEL_UNARY(erfc)
PEL_UNARY(erfinv)
PEL_UNARY_OUT(ndtr)  // the normal distribution function
PEL_UNARY(sigmoid)   // 1 / (1 + e^-x)
// log(x / (1 - x)), of x within [eps, 1 - eps] where eps is given.
PEL_API Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt,
                     Site site = Site::current());
PEL_API const Tensor& logit_(const Tensor& self, std::optional<double> eps = std::nullopt,
                             Site site = Site::current());
PEL_API const Tensor& logit_out(const Tensor& out, const Tensor& self,
                                std::optional<double> eps = std::nullopt, Site site = Site::current());

// Predicates: the result is bool.
PEL_UNARY_PLAIN(isnan)
PEL_UNARY_PLAIN(isinf)
PEL_UNARY_PLAIN(isfinite)
PEL_UNARY_OUT(isposinf)
PEL_UNARY_OUT(isneginf)
PEL_UNARY_OUT(signbit)

// NaN and infinities replaced; the infinities by the largest numbers of the dtype unless told.
PEL_API Tensor nan_to_num(const Tensor& self, double nan = 0, std::optional<double> posinf = std::nullopt,
                          std::optional<double> neginf = std::nullopt, Site site = Site::current());
PEL_API const Tensor& nan_to_num_(const Tensor& self, double nan = 0,
                                  std::optional<double> posinf = std::nullopt,
                                  std::optional<double> neginf = std::nullopt, Site site = Site::current());
PEL_API const Tensor& nan_to_num_out(const Tensor& out, const Tensor& self, double nan = 0,
                                     std::optional<double> posinf = std::nullopt,
                                     std::optional<double> neginf = std::nullopt,
                                     Site site = Site::current());

// Activations. Floating dtypes only, but for relu, relu6, hardtanh and threshold, which take integers, and
// softsign and tanhshrink, which are floating.
PEL_UNARY(relu)   // max(x, 0)
PEL_UNARY(relu6)  // x within [0, 6]
PEL_UNARY(silu)   // x sigmoid(x)
PEL_UNARY(mish)   // x tanh(softplus(x))
PEL_UNARY(selu)
PEL_UNARY(hardsigmoid)
PEL_UNARY(hardswish)
PEL_UNARY_OUT(log_sigmoid)
PEL_UNARY_OUT(softsign)    // x / (1 + |x|)
PEL_UNARY_OUT(tanhshrink)  // x - tanh(x)
// x times the normal distribution function ("none"), or times what a tanh approximates it by ("tanh").
PEL_API Tensor gelu(const Tensor& self, std::string_view approximate = "none", Site site = Site::current());
PEL_API const Tensor& gelu_(const Tensor& self, std::string_view approximate = "none",
                            Site site = Site::current());
PEL_API const Tensor& gelu_out(const Tensor& out, const Tensor& self, std::string_view approximate = "none",
                               Site site = Site::current());
// log(1 + e^(beta x)) / beta; x where beta x is above the threshold.
PEL_API Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20,
                        Site site = Site::current());
PEL_API const Tensor& softplus_out(const Tensor& out, const Tensor& self, const Scalar& beta = 1,
                                   const Scalar& threshold = 20, Site site = Site::current());
// scale x, below 0 scale alpha (e^(input_scale x) - 1).
PEL_API Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
                   const Scalar& input_scale = 1, Site site = Site::current());
PEL_API const Tensor& elu_(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
                           const Scalar& input_scale = 1, Site site = Site::current());
PEL_API const Tensor& elu_out(const Tensor& out, const Tensor& self, const Scalar& alpha = 1,
                              const Scalar& scale = 1, const Scalar& input_scale = 1,
                              Site site = Site::current());
// x, below 0 alpha (e^(x / alpha) - 1).
PEL_API Tensor celu(const Tensor& self, const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& celu_(const Tensor& self, const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& celu_out(const Tensor& out, const Tensor& self, const Scalar& alpha = 1,
                               Site site = Site::current());
// x, below 0 negative_slope x.
PEL_API Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01,
                          Site site = Site::current());
PEL_API const Tensor& leaky_relu_(const Tensor& self, const Scalar& negative_slope = 0.01,
                                  Site site = Site::current());
PEL_API const Tensor& leaky_relu_out(const Tensor& out, const Tensor& self,
                                     const Scalar& negative_slope = 0.01, Site site = Site::current());
// x above the threshold, value elsewhere.
PEL_API Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value,
                         Site site = Site::current());
PEL_API const Tensor& threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value,
                                 Site site = Site::current());
PEL_API const Tensor& threshold_out(const Tensor& out, const Tensor& self, const Scalar& threshold,
                                    const Scalar& value, Site site = Site::current());
// x within [min_val, max_val].
PEL_API Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1,
                        Site site = Site::current());
PEL_API const Tensor& hardtanh_(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1,
                                Site site = Site::current());
PEL_API const Tensor& hardtanh_out(const Tensor& out, const Tensor& self, const Scalar& min_val = -1,
                                   const Scalar& max_val = 1, Site site = Site::current());
// 0 within [-lambd, lambd]; elsewhere x, or for softshrink x moved towards 0 by lambd.
PEL_API Tensor hardshrink(const Tensor& self, const Scalar& lambd = 0.5, Site site = Site::current());
PEL_API const Tensor& hardshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd = 0.5,
                                     Site site = Site::current());
PEL_API Tensor softshrink(const Tensor& self, const Scalar& lambd = 0.5, Site site = Site::current());
PEL_API const Tensor& softshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd = 0.5,
                                     Site site = Site::current());

// What flows back through an activation, from its argument or its result.
PEL_API Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate = "none",
                             Site site = Site::current());
PEL_API Tensor silu_backward(const Tensor& grad, const Tensor& self, Site site = Site::current());
PEL_API Tensor sigmoid_backward(const Tensor& grad, const Tensor& result, Site site = Site::current());
PEL_API Tensor tanh_backward(const Tensor& grad, const Tensor& result, Site site = Site::current());
// grad where self is above the threshold, 0 elsewhere.
PEL_API Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold,
                                  Site site = Site::current());

// The left operand of an operator, with the place where it stands.
struct Sited {
  Sited(const Tensor& t, Site at = Site::current()) : tensor(t), site(at) {}
  const Tensor& tensor;
  Site site;
};

// Operators. The compound ones change their left operand in place.
inline Tensor operator+(Sited a, const Tensor& b) { return add(a.tensor, b, 1, a.site); }
inline Tensor operator+(Sited a, const Scalar& b) { return add(a.tensor, b, 1, a.site); }
inline Tensor operator+(const Scalar& a, Sited b) { return add(b.tensor, a, 1, b.site); }
inline Tensor operator-(Sited a, const Tensor& b) { return sub(a.tensor, b, 1, a.site); }
inline Tensor operator-(Sited a, const Scalar& b) { return sub(a.tensor, b, 1, a.site); }
inline Tensor operator-(const Scalar& a, Sited b) { return rsub(b.tensor, a, 1, b.site); }
inline Tensor operator*(Sited a, const Tensor& b) { return mul(a.tensor, b, a.site); }
inline Tensor operator*(Sited a, const Scalar& b) { return mul(a.tensor, b, a.site); }
inline Tensor operator*(const Scalar& a, Sited b) { return mul(b.tensor, a, b.site); }
inline Tensor operator/(Sited a, const Tensor& b) { return div(a.tensor, b, std::nullopt, a.site); }
inline Tensor operator/(Sited a, const Scalar& b) { return div(a.tensor, b, std::nullopt, a.site); }
inline Tensor operator/(const Scalar& a, Sited b) { return div(a, b.tensor, std::nullopt, b.site); }
inline Tensor operator-(Sited a) { return neg(a.tensor, a.site); }
inline const Tensor& operator+=(Sited a, const Tensor& b) { return add_(a.tensor, b, 1, a.site); }
inline const Tensor& operator+=(Sited a, const Scalar& b) { return add_(a.tensor, b, 1, a.site); }
inline const Tensor& operator-=(Sited a, const Tensor& b) { return sub_(a.tensor, b, 1, a.site); }
inline const Tensor& operator-=(Sited a, const Scalar& b) { return sub_(a.tensor, b, 1, a.site); }
inline const Tensor& operator*=(Sited a, const Tensor& b) { return mul_(a.tensor, b, a.site); }
inline const Tensor& operator*=(Sited a, const Scalar& b) { return mul_(a.tensor, b, a.site); }
inline const Tensor& operator/=(Sited a, const Tensor& b) { return div_(a.tensor, b, std::nullopt, a.site); }
inline const Tensor& operator/=(Sited a, const Scalar& b) { return div_(a.tensor, b, std::nullopt, a.site); }

}  // namespace pel

// Elementwise functions: exponentials, logarithms, trigonometric and hyperbolic functions, the error
// function. Names, semantics and type promotion are PyTorch's; sizes broadcast. pointwise_forms.h explains
// PEL_UNARY and PEL_BINARY.
#pragma once

#include <optional>

#include "pellucid/ops/pointwise_forms.h"

namespace pel {

// Functions of two arguments.
PEL_BINARY(atan2)           // the angle of (other, self); floating
PEL_BINARY_OUT(logaddexp)   // log(e^self + e^other)
PEL_BINARY_OUT(logaddexp2)  // log2(2^self + 2^other)
PEL_BINARY(xlogy)           // self * log(other), 0 where self is 0; floating
PEL_BINARY_OUT(xlog1py)     // self * log(1 + other), 0 where self is 0; floating

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
// log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is set.
PEL_API Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt,
                     Site site = Site::current());
PEL_API const Tensor& logit_(const Tensor& self, std::optional<double> eps = std::nullopt,
                             Site site = Site::current());
PEL_API const Tensor& logit_out(const Tensor& out, const Tensor& self,
                                std::optional<double> eps = std::nullopt, Site site = Site::current());

}  // namespace pel

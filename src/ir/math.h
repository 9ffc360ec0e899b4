// Mathematical functions as expansions into the scalar operations: the same polynomials, and so the same
// bits, on every device. Each takes f32 or f64; the formula may differ by type. The number after each is its
// error bound in ULP, for f32 over all arguments.
#pragma once

#include "ir/scalar.h"

namespace pel::scalar {

// Building blocks.
Term polynomial(Term x, ArrayView<double> coefficients);  // Horner by fma, the constant first
Term copy_sign(Term magnitude, Term sign);
Term ldexp(Term x, Term exponent);  // x * 2^exponent, rounded once; the exponent is an integer in x's type

// Exponentials and logarithms.
Term exp(Term x);  // 1
Term exp_term(
    Term x);  // 1, for x <= 0 in a sum >= 1: results below the smallest normal number become that number
Term exp2(Term x);         // 1
Term expm1(Term x);        // 1.5
Term log(Term x);          // 1
Term log2(Term x);         // 1
Term log10(Term x);        // 1.5
Term log1p(Term x);        // 1.5
Term pow(Term x, Term y);  // 1

// Hyperbolic.
Term sinh(Term x);     // 2
Term cosh(Term x);     // 1.5
Term tanh(Term x);     // 1.5
Term asinh(Term x);    // 2
Term acosh(Term x);    // 2
Term atanh(Term x);    // 2
Term sigmoid(Term x);  // 2

// Trigonometric.
Term sin(Term x);            // 1
Term cos(Term x);            // 1
Term tan(Term x);            // 1.5
Term asin(Term x);           // 1.5
Term acos(Term x);           // 1.5
Term atan(Term x);           // 1.5
Term atan2(Term y, Term x);  // 1.5
Term hypot(Term x, Term y);  // 1

// Error function.
Term erf(Term x);     // 1.5
Term erfc(Term x);    // 2
Term erfinv(Term x);  // 4

// x times a distribution function, to the last digits of its lower tail.
Term ndtr(Term x);       // 4, the normal distribution function itself
Term gelu(Term x);       // 4, x ndtr(x)
Term gelu_tanh(Term x);  // 3, x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
Term silu(Term x);       // 3, x sigmoid(x)
Term mish(Term x);       // 3.5, x tanh(log(1 + e^x))
// grad times their derivatives. Where the terms of a derivative cancel, the bound is relative to the terms.
Term gelu_backward(Term grad, Term x);       // 4
Term gelu_tanh_backward(Term grad, Term x);  // 7
Term silu_backward(Term grad, Term x);       // 5

// What it is once it was stored as `type`: for formulas that round where other ops would store a result.
inline Term rounded(Term x, DType type) { return cast(cast(x, type), x.type()); }

// For results that are rounded to `half`, f16 or bf16, of f32 arguments that are numbers of `half`: at most
// 0.51 ULP of `half`, in two thirds of the operations.
Term exp_half(Term x, DType half);
Term sigmoid_half(Term x, DType half);
Term tanh_half(Term x, DType half);
Term erf_half(Term x, DType half);
Term gelu_half(Term x, DType half);
Term gelu_tanh_half(Term x, DType half);
Term silu_half(Term x, DType half);
Term gelu_backward_half(Term grad, Term x, DType half);
Term gelu_tanh_backward_half(Term grad, Term x, DType half);
Term silu_backward_half(Term grad, Term x, DType half);

}  // namespace pel::scalar

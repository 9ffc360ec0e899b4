// Operators on tensors: a + b, a * 2, -a, a += b.
#pragma once

#include "pellucid/ops/arithmetic.h"

namespace pel {

// The left operand of an operator, with its source location.
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

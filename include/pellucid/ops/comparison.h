// Elementwise comparisons, logic, bits, predicates, and selection by a condition.
// Names, semantics and type promotion are PyTorch's; sizes broadcast. pointwise_forms.h explains PEL_UNARY
// and PEL_BINARY.
#pragma once

#include "pellucid/ops/pointwise_forms.h"

namespace pel {

// Comparisons return bool. In place, self keeps its dtype and holds 0 and 1.
PEL_BINARY(eq)
PEL_BINARY(ne)
PEL_BINARY(lt)
PEL_BINARY(le)
PEL_BINARY(gt)
PEL_BINARY(ge)

// Logic on "is not zero" returns bool.
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

// Selection. Conditions and masks are bool.
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

// Predicates: the result is bool.
PEL_UNARY_PLAIN(isnan)
PEL_UNARY_PLAIN(isinf)
PEL_UNARY_PLAIN(isfinite)
PEL_UNARY_OUT(isposinf)
PEL_UNARY_OUT(isneginf)
PEL_UNARY_OUT(signbit)

}  // namespace pel

#include "ops/shared/scaled.h"

#include "base/check.h"
#include "ops/shared/vjp.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel {

std::size_t scaled_formula(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const bool is_one = !alpha.is_symbolic() && alpha.to_double() == 1;
  if (is_one && alpha.kind() == Scalar::Kind::Int) [[likely]]
    return 0;
  const DType dtype = result_type({self, other});
  PEL_CHECK(!alpha.is_float() || is_floating(dtype), DTypeError,
            "alpha is {}, and the operands promote to {}; it must be an integer", to_string(alpha),
            name(dtype));
  PEL_CHECK(alpha.kind() != Scalar::Kind::Bool || dtype == kBool, DTypeError,
            "alpha is a bool, and the operands promote to {}", name(dtype));
  if (!alpha.is_symbolic()) check_fits(dtype, alpha);
  return is_one ? 0 : 1;
}

Tensor scaled_gradient(const Vjp& v) { return scaled(v.grad(), v.get<Scalar>("alpha")); }

}  // namespace pel

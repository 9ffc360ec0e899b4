#include "dispatch/reduction.h"

#include "tensor/convert.h"

namespace pel {

scalar::ScalarExpr element_expr(const Reduction& reduction, DType dtype) {
  scalar::ScalarBuilder builder;
  const scalar::Term value = cast(builder.input(dtype), reduction.value_type(dtype));
  return builder.finish({&value, 1});
}

scalar::ScalarExpr combine_expr(const Reduction& reduction, DType value_type) {
  scalar::ScalarBuilder builder;
  const scalar::Term a = builder.input(value_type), b = builder.input(value_type);
  const scalar::Term result = reduction.combine(a, b);
  return builder.finish({&result, 1});
}

std::uint64_t initial_bits(const Reduction& reduction, DType value_type) {
  std::uint64_t bits = 0;
  with_type(value_type,
            [&]<class T>(std::type_identity<T>) { store_as(&bits, convert<T>(reduction.initial)); });
  return bits;
}

}  // namespace pel

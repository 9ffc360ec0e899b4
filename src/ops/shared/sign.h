// What sign and sgn share: they are the same for real numbers.
#pragma once

#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

inline OpDef define_sign_as(std::string_view name) {
  return unary(name)
      .formula([](Term x) {
        if (x.type() == kBool) return x;
        return select(x > 0, 1, select(x < 0, x.constant(-1), 0));
      })
      .reference([](auto x) { return (x > 0) - (x < 0); })
      .reference_int([](WideInt x) { return (x > 0) - (x < 0); })
      .vjp("self", "", zero_gradient);
}

}  // namespace pel

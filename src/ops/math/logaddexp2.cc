// log2(2^self + 2^other), from the larger one upwards, so that nothing overflows.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_logaddexp2() {
  return binary("logaddexp2")
      .forms(Forms::Out)
      .computes(kFloating)
      .formula([](Term a, Term b) {
        const Term larger = select(is_nan(a), a, max(a, b));
        // Equal infinities have no difference.
        const Term more = log1p(exp2(-abs(a - b))) * std::numbers::log2e;
        return select(a == b, a + 1, larger + more);
      })
      .reference([](auto a, auto b) {
        using T = decltype(a);
        const T larger = a != a || a > b ? a : b, smaller = a > b ? b : a;
        return std::isinf(larger)
                   ? larger
                   : larger + std::log1p(std::exp2(smaller - larger)) * std::numbers::log2e_v<T>;
      })
      // The rounding of a - b grows with it.
      .magnitude([](double a, double b) {
        const double apart = std::abs(a - b);
        return std::abs(std::fmax(a, b)) + (1 + apart) * std::exp2(-apart);
      })
      .max_ulp(2.5)
      .vjp("self", "self other",
           [](const Vjp& v) { return v.grad() * sigmoid((v["self"] - v["other"]) * std::numbers::ln2); })
      .vjp("other", "self other",
           [](const Vjp& v) { return v.grad() * sigmoid((v["other"] - v["self"]) * std::numbers::ln2); });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(logaddexp2)
PEL_DEFINE_BINARY_OUT(logaddexp2)

}  // namespace pel

// log(e^self + e^other), from the larger one upwards, so that nothing overflows.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_logaddexp() {
  return binary("logaddexp")
      .forms(Forms::Out)
      .computes(kFloating)
      .formula([](Term a, Term b) {
        const Term larger = select(is_nan(a), a, max(a, b));
        // Equal infinities have no difference.
        return select(a == b, a + std::numbers::ln2, larger + log1p(exp(-abs(a - b))));
      })
      .reference([](auto a, auto b) {
        using T = decltype(a);
        const T larger = a != a || a > b ? a : b, smaller = a > b ? b : a;
        return std::isinf(larger) ? larger : larger + std::log1p(std::exp(smaller - larger));
      })
      // The rounding of a - b grows with it.
      .magnitude([](double a, double b) {
        const double apart = std::abs(a - b);
        return std::abs(std::fmax(a, b)) + (1 + apart) * std::exp(-apart);
      })
      .max_ulp(2)
      .vjp("self", "self other", [](const Vjp& v) { return v.grad() * sigmoid(v["self"] - v["other"]); })
      .vjp("other", "self other", [](const Vjp& v) { return v.grad() * sigmoid(v["other"] - v["self"]); });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(logaddexp)
PEL_DEFINE_BINARY_OUT(logaddexp)

}  // namespace pel

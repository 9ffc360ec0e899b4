// log(sum e^x) up to each element.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor logcumsumexp_body(const Op& op, const Tensor& self, std::int64_t axis) {
  return run_scan(op, self, axis, self.dtype());
}

// sum grad e^(x - result) over the results from here on, in logarithms, so that nothing overflows: what is
// positive of grad and what is negative each by itself.
Tensor logcumsumexp_gradient(const Vjp& v) {
  const auto axis = v.get<std::int64_t>("dim");
  const auto part = [&](const Tensor& grad) {
    const Tensor is_positive = gt(grad, 0);
    // Stands for the logarithm of 0: far below that of any number, and a number in f16.
    constexpr double kNothing = -1e4;
    const Tensor logs = where(is_positive, log(where(is_positive, grad, 1)), kNothing);
    const Tensor sums = flip(logcumsumexp(flip(logs - v["result"], {axis}), axis), {axis});
    return exp(sums + v["self"]);
  };
  return part(v.grad()) - part(-v.grad());
}

}  // namespace

namespace ops {
OpDef define_logcumsumexp() {
  return define_op<logcumsumexp_body>(OpKind::Kernel, "logcumsumexp(Tensor self, int dim) -> Tensor")
      .dtypes(kFloating)
      .vjp("self", "self result dim", logcumsumexp_gradient)
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(-1)}, {s({3, 2}), Dim(0)}}; });
}
}  // namespace ops

Tensor logcumsumexp(const Tensor& self, std::int64_t axis, Site site) {
  return call<"logcumsumexp", logcumsumexp_body>(site, self, axis);
}

}  // namespace pel

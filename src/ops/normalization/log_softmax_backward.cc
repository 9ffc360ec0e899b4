// The gradient of log_softmax: grad - e^result sum(grad).
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor log_softmax_backward_body(const Op& op, const Tensor& grad, const Tensor& result, std::int64_t axis) {
  PEL_CHECK(grad.dtype() == result.dtype(), DTypeError,
            "grad is {} and the result {}; pass both in one dtype", describe(grad), describe(result));
  return run_rows(op, {grad, result}, {check_floating(grad), axis_set(grad, axis)})[0];
}

}  // namespace

namespace ops {
OpDef define_log_softmax_backward() {
  return rows_op<log_softmax_backward_body>(
             "log_softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor")
      .inputs(2)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0]; })
      .gives_row([](const RowTerms& t) { return t.in[0] - exp(t.in[1]) * t.values[0]; })
      .max_ulp(4)
      .domain(-2, 2)
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        const long double e = std::exp(in[1][place]);
        return RowProgram::Wanted{in[0][place] - e * sum_of(in[0]),
                                  std::abs(in[0][place]) + e * sum_of_sizes(in[0])};
      })
      .vjp("grad", "result dim",
           [](const Vjp& v) {
             return v.grad() - sum(v.grad() * exp(v["result"]), {v.get<std::int64_t>("dim")}, KeepDims::Yes);
           })
      .vjp("result", "grad result dim",
           [](const Vjp& v) {
             return -(v.grad() * exp(v["result"]) *
                      sum(v["grad"], {v.get<std::int64_t>("dim")}, KeepDims::Yes));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}), Dim(-1)}, {s({2, 3}), s({2, 3}), Dim(0)}};
      });
}
}  // namespace ops

namespace internal {
Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis, Site site) {
  return call<"log_softmax_backward", log_softmax_backward_body>(site, grad, result, axis);
}
}  // namespace internal

}  // namespace pel

// The gradient of softmax: result (grad - sum(grad result)).
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor softmax_backward_body(const Op& op, const Tensor& grad, const Tensor& result, std::int64_t axis) {
  PEL_CHECK(grad.dtype() == result.dtype(), DTypeError,
            "grad is {} and the result {}; pass both in one dtype", describe(grad), describe(result));
  return run_rows(op, {grad, result}, {check_floating(grad), axis_set(grad, axis)})[0];
}

}  // namespace

namespace ops {
OpDef define_softmax_backward() {
  return rows_op<softmax_backward_body>("softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor")
      .inputs(2)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[1]; })
      .gives_row([](const RowTerms& t) { return t.in[1] * (t.in[0] - t.values[0]); })
      .max_ulp(4)
      .domain(-2, 2)
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        long double sum = 0, size = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          sum += in[0][i] * in[1][i];
          size += std::abs(in[0][i] * in[1][i]);
        }
        return RowProgram::Wanted{in[1][place] * (in[0][place] - sum),
                                  std::abs(in[1][place]) * (std::abs(in[0][place]) + size)};
      })
      .vjp("grad", "result dim",
           [](const Vjp& v) {
             return internal::softmax_backward(v.grad(), v["result"], v.get<std::int64_t>("dim"));
           })
      .vjp("result", "grad result dim",
           [](const Vjp& v) {
             const Tensor& grad = v["grad"];
             const auto row_sum = [&](const Tensor& t) {
               return sum(t * v["result"], {v.get<std::int64_t>("dim")}, KeepDims::Yes);
             };
             return v.grad() * (grad - row_sum(grad)) - grad * row_sum(v.grad());
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}), Dim(-1)}, {s({2, 3}), s({2, 3}), Dim(0)}};
      });
}
}  // namespace ops

namespace internal {
Tensor softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis, Site site) {
  return call<"softmax_backward", softmax_backward_body>(site, grad, result, axis);
}
}  // namespace internal

}  // namespace pel

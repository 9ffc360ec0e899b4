// e^x / sum e^x along an axis.
#include "ops/shared/softmax.h"

#include "pellucid/ops/internal.h"

namespace pel {
namespace {

Tensor softmax_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  const DType compute = dtype ? *dtype : check_floating(self);
  return run_rows(op, {self}, {compute, axis_set(self, axis)})[0];
}

}  // namespace

namespace ops {
OpDef define_softmax() {
  return exponential_folds(
             rows_op<softmax_body>("softmax(Tensor self, int dim, *, DType? dtype=None) -> Tensor"),
             [](const RowTerms& t) { return 1 / t.values[1]; })
      .keeps()
      .gives_row([](const RowTerms& t) { return t.kept[0] * t.values[1]; })
      .max_ulp(4)
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        return RowProgram::Wanted{
            std::exp(in[0][place] - std::ranges::max(in[0])) / sum_of_exponentials(in[0]), 0};
      })
      .vjp("self", "result dim",
           [](const Vjp& v) {
             return internal::softmax_backward(v.grad(), v["result"], v.get<std::int64_t>("dim"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(1)}, {s({3, 4}), Dim(0)}}; });
}
}  // namespace ops

Tensor softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"softmax", softmax_body>(site, self, axis, dtype);
}

}  // namespace pel

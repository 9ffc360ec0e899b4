// log(e^x / sum e^x) along an axis.
#include "pellucid/ops/internal.h"

#include "ops/shared/softmax.h"

namespace pel {
namespace {

Tensor log_softmax_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  const DType compute = dtype ? *dtype : check_floating(self);
  return run_rows(op, {self}, {compute, axis_set(self, axis)})[0];
}

}  // namespace

namespace ops {
OpDef define_log_softmax() {
  return exponential_folds(
             rows_op<log_softmax_body>("log_softmax(Tensor self, int dim, *, DType? dtype=None) -> Tensor"),
             [](const RowTerms& t) { return log(t.values[1]); })
      .gives_row([](const RowTerms& t) { return shifted(t) - t.values[1]; })
      .max_ulp(4)
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        return RowProgram::Wanted{
            in[0][place] - std::ranges::max(in[0]) - std::log(sum_of_exponentials(in[0])),
            std::ranges::max(in[0]) - in[0][place] + 1};
      })
      .vjp("self", "result dim",
           [](const Vjp& v) {
             return internal::log_softmax_backward(v.grad(), v["result"], v.get<std::int64_t>("dim"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(-1)}, {s({3, 4}), Dim(0)}}; });
}
}  // namespace ops

Tensor log_softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"log_softmax", log_softmax_body>(site, self, axis, dtype);
}

}  // namespace pel

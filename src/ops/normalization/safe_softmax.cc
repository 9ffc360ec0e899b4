// softmax in which a row of -inf alone becomes zeros: under a mask that hides every key, attention adds
// nothing.
#include <limits>

#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/softmax.h"

namespace pel {
namespace {

Tensor safe_softmax_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  const DType compute = dtype ? *dtype : check_floating(self);
  return run_rows(op, {self}, {compute, axis_set(self, axis)})[0];
}

}  // namespace

namespace ops {
OpDef define_safe_softmax() {
  // Of a row of -inf the max counts as 0 and every exponential is 0. Other sums are at least 1.
  return exponential_folds(
             rows_op<safe_softmax_body>("safe_softmax(Tensor self, int dim, *, DType? dtype=None) -> Tensor"),
             [](const RowTerms& t) { return select(t.values[1] == 0, 0, 1 / t.values[1]); },
             [](const RowTerms& t) {
               const double infinity = std::numeric_limits<double>::infinity();
               return select(t.values[0] == t.values[0].constant(-infinity), 0.0, t.values[0]);
             })
      .keeps()
      .gives_row([](const RowTerms& t) { return t.kept[0] * t.values[1]; })
      .max_ulp(4)
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        const long double largest = std::ranges::max(in[0]);
        if (std::isinf(largest) && largest < 0) return RowProgram::Wanted{0, 0};
        return RowProgram::Wanted{std::exp(in[0][place] - largest) / sum_of_exponentials(in[0]), 0};
      })
      .vjp("self", "result dim",
           [](const Vjp& v) {
             return internal::softmax_backward(v.grad(), v["result"], v.get<std::int64_t>("dim"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(1)}, {s({3, 4}), Dim(0)}}; });
}
}  // namespace ops

Tensor safe_softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"safe_softmax", safe_softmax_body>(site, self, axis, dtype);
}

}  // namespace pel

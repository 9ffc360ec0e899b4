// log(sum e^x) over axes, without overflow.
#include <limits>

#include "ops/shared/softmax.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor logsumexp_body(const Op& op, const Tensor& self, Axes axes, KeepDims keepdim) {
  return run_rows(op, {self}, {floating_or_f32(self.dtype()), axis_set(self, axes), keepdim})[0];
}

}  // namespace

namespace ops {
OpDef define_logsumexp() {
  return exponential_folds(
             rows_op<logsumexp_body>("logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor"),
             nullptr,
             [](const RowTerms& t) {
               const double infinity = std::numeric_limits<double>::infinity();
               return select(abs(t.values[0]) == t.values[0].constant(infinity), 0.0, t.values[0]);
             })
      .gives_value([](const RowTerms& t) { return log(t.values[1]) + t.values[0]; })
      .max_ulp(3)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        if (in[0].empty()) return RowProgram::Wanted{-std::numeric_limits<long double>::infinity(), 0};
        const long double largest = std::ranges::max(in[0]);
        return RowProgram::Wanted{std::log(sum_of_exponentials(in[0])) + largest,
                                  std::max(1.0L, std::abs(largest))};
      })
      .vjp("self", "self result dim keepdim",
           [](const Vjp& v) {
             const auto axes = v.get<Axes>("dim");
             const auto keepdim = v.get<KeepDims>("keepdim");
             const Tensor& self = v["self"];
             return with_axes_kept(v.grad(), self.sizes(), axes, keepdim) *
                    exp(self - with_axes_kept(v["result"], self.sizes(), axes, keepdim));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{1}}, {s({2, 3, 2}), std::vector<Dim>{0, -1}, true}};
      });
}
}  // namespace ops

Tensor logsumexp(const Tensor& self, Axes axes, KeepDims keepdim, Site site) {
  return call<"logsumexp", logsumexp_body>(site, self, axes, keepdim);
}

}  // namespace pel

// The sum over the ranks of the part of axis 0 that belongs to this one.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor reduce_scatter_body(const Op& op, const Tensor& self, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  Tensor result = make_dense(with_rows(self, rows_of_part(self, ranks)), self.dtype(), self.device());
  launch(op, {result}, {self}, {ranks.number});
  return result;
}

}  // namespace

namespace ops {
OpDef define_reduce_scatter() {
  return define_op<reduce_scatter_body>(OpKind::Kernel,
                                        "reduce_scatter(Tensor self, str group='world') -> Tensor")
      .dtypes(kFloating | kIntegral)
      .communicates()
      .vjp("self", "group", [](const Vjp& v) { return all_gather(v.grad(), group_of(v)); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}).t()}}; });
}
}  // namespace ops

Tensor reduce_scatter(const Tensor& self, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"reduce_scatter", reduce_scatter_body>(site, self, group);
}

}  // namespace pel

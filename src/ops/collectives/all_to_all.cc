// Part r of axis 0 goes to rank r, and comes from there.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor all_to_all_body(const Op& op, const Tensor& self, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  rows_of_part(self, ranks);
  Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  launch(op, {result}, {self}, {ranks.number});
  return result;
}

}  // namespace

namespace ops {
OpDef define_all_to_all() {
  return define_op<all_to_all_body>(OpKind::Kernel, "all_to_all(Tensor self, str group='world') -> Tensor")
      .communicates()
      .vjp("self", "group", [](const Vjp& v) { return all_to_all(v.grad(), group_of(v)); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}).t()}}; });
}
}  // namespace ops

Tensor all_to_all(const Tensor& self, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"all_to_all", all_to_all_body>(site, self, group);
}

}  // namespace pel

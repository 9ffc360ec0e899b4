// The sum over the ranks of a group, by a fixed tree.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor all_reduce_body(const Op& op, const Tensor& self, std::string_view group) {
  Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  launch(op, {result}, {self}, {dist::group_named(group).number});
  return result;
}

}  // namespace

namespace ops {
OpDef define_all_reduce() {
  return define_op<all_reduce_body>(OpKind::Kernel, "all_reduce(Tensor self, str group='world') -> Tensor")
      .dtypes(kFloating | kIntegral)
      .communicates()
      .vjp("self", "group", [](const Vjp& v) { return all_reduce(v.grad(), group_of(v)); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}).t()}}; });
}
}  // namespace ops

Tensor all_reduce(const Tensor& self, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"all_reduce", all_reduce_body>(site, self, group);
}

}  // namespace pel

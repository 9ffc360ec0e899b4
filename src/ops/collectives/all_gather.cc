// The tensors of all ranks, one after another along axis 0.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor all_gather_body(const Op& op, const Tensor& self, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  const Dim rows = self.dim() == 0 ? Dim(1) : self.size(0);
  Tensor result =
      make_dense(with_rows(self, ranks.size == 1 ? rows : rows * ranks.size), self.dtype(), self.device());
  launch(op, {result}, {self}, {ranks.number});
  return result;
}

}  // namespace

namespace ops {
OpDef define_all_gather() {
  return define_op<all_gather_body>(OpKind::Kernel, "all_gather(Tensor self, str group='world') -> Tensor")
      .communicates()
      .vjp("self", "group",
           [](const Vjp& v) { return reshape(reduce_scatter(v.grad(), group_of(v)), v.sizes("self")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}).t()}, {s({})}}; });
}
}  // namespace ops

Tensor all_gather(const Tensor& self, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"all_gather", all_gather_body>(site, self, group);
}

}  // namespace pel

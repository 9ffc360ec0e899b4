// The tensor of one rank, on all of them.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor broadcast_body(const Op& op, const Tensor& self, std::int64_t src, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  check_rank(src, "the source", ranks);
  Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  launch(op, {result}, {self}, {ranks.number, src});
  return result;
}

// All ranks make the same call; those whose tensor was not used have a gradient of zero.
Tensor broadcast_gradient(const Vjp& v) {
  const Tensor sum = all_reduce(v.grad(), group_of(v));
  return dist::group_named(group_of(v)).rank == v.get<std::int64_t>("src") ? sum : zeros_like(sum);
}

}  // namespace

namespace ops {
OpDef define_broadcast() {
  return define_op<broadcast_body>(OpKind::Kernel,
                                   "broadcast(Tensor self, int src=0, str group='world') -> Tensor")
      .communicates()
      .vjp("self", "src group", broadcast_gradient)
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}).t()}}; });
}
}  // namespace ops

Tensor broadcast(const Tensor& self, std::int64_t src, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"broadcast", broadcast_body>(site, self, src, group);
}

}  // namespace pel

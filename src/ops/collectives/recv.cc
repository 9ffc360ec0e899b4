// A message from one other rank.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor recv_body(const Op& op, const Tensor& like, std::int64_t src, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  check_rank(src, "the source", ranks);
  PEL_CHECK(src != ranks.rank || ranks.size == 1, ValueError, "rank {} receives from itself", src);
  Tensor result = make_dense(like.sizes(), like.dtype(), like.device());
  launch(op, {result}, {like}, {ranks.number, src});
  return result;
}

}  // namespace

namespace ops {
OpDef define_recv() {
  return define_op<recv_body>(OpKind::Kernel, "recv(Tensor like, int src, str group='world') -> Tensor")
      .communicates()
      .not_differentiable()
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(0)}, {s({3, 4}).t(), Dim(0)}}; });
}
}  // namespace ops

Tensor recv(const Tensor& like, std::int64_t src, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"recv", recv_body>(site, like, src, group);
}

}  // namespace pel

// A message to one other rank. The result makes it a call like others, with an output to be written.
#include "ops/shared/collective.h"

namespace pel {
namespace {

Tensor send_body(const Op& op, const Tensor& self, std::int64_t dst, std::string_view group) {
  const dist::Group::State& ranks = dist::group_named(group);
  check_rank(dst, "the destination", ranks);
  PEL_CHECK(dst != ranks.rank || ranks.size == 1, ValueError, "rank {} sends to itself", dst);
  Tensor elements = make_dense({}, kI64, self.device());
  launch(op, {elements}, {self}, {ranks.number, dst});
  return elements;
}

}  // namespace

namespace ops {
OpDef define_send() {
  return define_op<send_body>(OpKind::Kernel, "send(Tensor self, int dst, str group='world') -> Tensor")
      .communicates()
      .not_differentiable()
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(0)}, {s({3, 4}).t(), Dim(0)}}; });
}
}  // namespace ops

Tensor send(const Tensor& self, std::int64_t dst, std::string_view group, Site site) {
  const CollectiveLine line(site);
  return call<"send", send_body>(site, self, dst, group);
}

}  // namespace pel

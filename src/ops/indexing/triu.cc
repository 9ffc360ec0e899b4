// The part of each matrix on and above a diagonal.
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/triangle.h"

namespace pel {
namespace {

Tensor triu_body(const Op& op, const Tensor& self, std::int64_t diagonal) {
  return make_triangle(op, self, diagonal, Triangle::Upper);
}
const Tensor& triu_in_place(const Op& op, const Tensor& self, std::int64_t diagonal) {
  return keep_triangle(op, self, diagonal, Triangle::Upper);
}

}  // namespace

namespace ops {
OpDef define_triu() {
  const auto back = [](const Vjp& v) { return triu(v.grad(), v.get<std::int64_t>("diagonal")); };
  OpDef def = define_op<triu_body>(OpKind::Kernel, "triu(Tensor self, int diagonal=0) -> Tensor")
                  .vjp("self", "diagonal", back)
                  .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({2, 3, 3}), Dim(-1)}}; });
  def.forms.push_back(
      define_op<triu_in_place>(OpKind::Kernel, "triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)")
          .vjp("self", "diagonal", back));
  return def;
}
}  // namespace ops

Tensor triu(const Tensor& self, std::int64_t diagonal, Site site) {
  return call<"triu", triu_body>(site, self, diagonal);
}
const Tensor& triu_(const Tensor& self, std::int64_t diagonal, Site site) {
  return call<"triu_", triu_in_place>(site, self, diagonal);
}

}  // namespace pel

// The part of each matrix on and below a diagonal.
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/triangle.h"

namespace pel {
namespace {

Tensor tril_body(const Op& op, const Tensor& self, std::int64_t diagonal) {
  return make_triangle(op, self, diagonal, Triangle::Lower);
}
const Tensor& tril_in_place(const Op& op, const Tensor& self, std::int64_t diagonal) {
  return keep_triangle(op, self, diagonal, Triangle::Lower);
}

}  // namespace

namespace ops {
OpDef define_tril() {
  const auto back = [](const Vjp& v) { return tril(v.grad(), v.get<std::int64_t>("diagonal")); };
  OpDef def = define_op<tril_body>(OpKind::Kernel, "tril(Tensor self, int diagonal=0) -> Tensor")
                  .vjp("self", "diagonal", back)
                  .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({2, 3, 3}), Dim(-1)}}; });
  def.forms.push_back(
      define_op<tril_in_place>(OpKind::Kernel, "tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)")
          .vjp("self", "diagonal", back));
  return def;
}
}  // namespace ops

Tensor tril(const Tensor& self, std::int64_t diagonal, Site site) {
  return call<"tril", tril_body>(site, self, diagonal);
}
const Tensor& tril_(const Tensor& self, std::int64_t diagonal, Site site) {
  return call<"tril_", tril_in_place>(site, self, diagonal);
}

}  // namespace pel

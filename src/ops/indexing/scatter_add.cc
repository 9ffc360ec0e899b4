// src added along an axis where the index says. Sources of one element are added in their order.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/index.h"

namespace pel {
namespace {

const Tensor& scatter_add_in_place(const Op& op, const Tensor& self, std::int64_t dim, const Tensor& index,
                                   const Tensor& src) {
  launch_scatter(op, self, dim, index, src, Combine::Add);
  bump_version(self);
  return self;
}

Tensor scatter_add_body(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor result = clone(self, Layout::RowMajor);
  scatter_add_(result, dim, index, src);
  return result;
}

}  // namespace

namespace ops {
OpDef define_scatter_add() {
  OpDef def = define_op<scatter_add_body>(
                  OpKind::Composite, "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")
                  .samples([](Sampler& s) {
                    return SampleCalls{{s({3, 2}), Dim(0), s.indices(3, {5, 2}), s({5, 2})},
                                       {s({2, 4}), Dim(-1), s.indices(4, {1, 3}), s({2, 5})}};
                  });
  def.forms.push_back(
      define_op<scatter_add_in_place>(
          OpKind::Kernel, "scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)")
          .vjp("self", "", [](const Vjp& v) { return v.grad(); })
          .vjp("src", "dim index", [](const Vjp& v) {
            return source_gradient(v.grad(), v.get<std::int64_t>("dim"), v["index"], v.sizes("src"));
          }));
  return def;
}
}  // namespace ops

Tensor scatter_add(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src, Site site) {
  return call<"scatter_add", scatter_add_body>(site, self, axis, index, src);
}
const Tensor& scatter_add_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                           Site site) {
  return call<"scatter_add_", scatter_add_in_place>(site, self, axis, index, src);
}

}  // namespace pel

// src written along an axis where the index says, or added or multiplied to what is there.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Combine combine_of(std::optional<ScatterMode> reduce) {
  if (!reduce) return Combine::Write;
  return *reduce == ScatterMode::Add ? Combine::Add : Combine::Multiply;
}

const Tensor& scatter_in_place(const Op& op, const Tensor& self, std::int64_t dim, const Tensor& index,
                               const Tensor& src, std::optional<ScatterMode> reduce) {
  launch_scatter(op, self, dim, index, src, combine_of(reduce));
  bump_version(self);
  return self;
}

Tensor scatter_body(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                    std::optional<ScatterMode> reduce) {
  // Its gradient needs what self was, which scatter_ overwrites.
  if (combine_of(reduce) == Combine::Multiply)
    return scatter_reduce(self, dim, index, src, ScatterReduce::Prod);
  Tensor result = clone(self, Layout::RowMajor);
  scatter_(result, dim, index, src, reduce);
  return result;
}

Combine refuse_multiply(const Vjp& v) {
  const Combine combine = combine_of(v.get<std::optional<ScatterMode>>("reduce"));
  PEL_CHECK(
      combine != Combine::Multiply, ValueError,
      "the gradient of a multiplication needs the factors, which scatter_ has overwritten; use scatter");
  return combine;
}

}  // namespace

namespace ops {
OpDef define_scatter() {
  OpDef def =
      define_op<scatter_body>(
          OpKind::Composite,
          "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor")
          .samples([](Sampler& s) {
            const Tensor index = s.permuted(3).unsqueeze(1);
            return SampleCalls{{s({4, 2}), Dim(0), index, s({3, 1})},
                               {s({2, 4}), Dim(-1), s.permuted(4).unsqueeze(0), s({2, 5})},
                               {s({3, 2}), Dim(0), s.indices(3, {5, 2}), s({5, 2}), std::string("add")},
                               {s({3, 2}), Dim(0), s.indices(3, {5, 2}), s({5, 2}), std::string("multiply")}};
          });
  def.forms.push_back(
      define_op<scatter_in_place>(
          OpKind::Kernel,
          "scatter_(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor(a!)")
          .vjp("self", "dim index reduce",
               [](const Vjp& v) {
                 if (refuse_multiply(v) == Combine::Add) return v.grad();
                 return scatter(v.grad(), v.get<std::int64_t>("dim"), v["index"], Scalar(0));
               })
          .vjp("src", "dim index reduce", [](const Vjp& v) {
            refuse_multiply(v);
            return source_gradient(v.grad(), v.get<std::int64_t>("dim"), v["index"], v.sizes("src"));
          }));
  return def;
}
}  // namespace ops

Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
               std::optional<ScatterMode> reduce, Site site) {
  return call<"scatter", scatter_body>(site, self, axis, index, src, reduce);
}
Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
               std::optional<ScatterMode> reduce, Site site) {
  return pel::scatter(self, axis, index, new_number(self, value), reduce, site);
}
const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                       std::optional<ScatterMode> reduce, Site site) {
  return call<"scatter_", scatter_in_place>(site, self, axis, index, src, reduce);
}
const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
                       std::optional<ScatterMode> reduce, Site site) {
  return pel::scatter_(self, axis, index, new_number(self, value), reduce, site);
}

}  // namespace pel

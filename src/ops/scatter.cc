// src written along an axis where the index says, or added or multiplied to what is there.
#include "pellucid/indexing.h"
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/family_index.h"
#include "ops/family_pointwise.h"

namespace pel {
namespace {

Combine combine_of(std::optional<std::string_view> reduce) {
  if (!reduce) return Combine::Write;
  PEL_CHECK(*reduce == "add" || *reduce == "multiply", ValueError,
            "reduce is \"add\" or \"multiply\", not \"{}\"", *reduce);
  return *reduce == "add" ? Combine::Add : Combine::Multiply;
}

const Tensor& scatter_in_place(const Op& op, const Tensor& self, std::int64_t dim, const Tensor& index,
                               const Tensor& src, std::optional<std::string_view> reduce) {
  launch_scatter(op, self, dim, index, src, combine_of(reduce));
  bump_version(self);
  return self;
}

Tensor scatter_body(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                    std::optional<std::string_view> reduce) {
  Tensor result = clone(self, Layout::RowMajor);
  scatter_(result, dim, index, src, reduce);
  return result;
}

}  // namespace

namespace ops {
OpDef define_scatter() {
  OpDef def = define_op<scatter_body>(
      OpKind::Composite,
      "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor");
  def.forms.push_back(define_op<scatter_in_place>(
      OpKind::Kernel,
      "scatter_(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor(a!)"));
  return def;
}
}  // namespace ops

Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
               std::optional<std::string_view> reduce, Site site) {
  return call<"scatter", scatter_body>(site, self, axis, index, src, reduce);
}
Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
               std::optional<std::string_view> reduce, Site site) {
  return pel::scatter(self, axis, index, number_beside(self, value), reduce, site);
}
const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                       std::optional<std::string_view> reduce, Site site) {
  return call<"scatter_", scatter_in_place>(site, self, axis, index, src, reduce);
}
const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
                       std::optional<std::string_view> reduce, Site site) {
  return pel::scatter_(self, axis, index, number_beside(self, value), reduce, site);
}

}  // namespace pel

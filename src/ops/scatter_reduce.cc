// src combined along an axis with what the index names: by sum, product, mean, or the greatest or least.
#include <algorithm>
#include <limits>

#include "pellucid/indexing.h"
#include "pellucid/ops.h"
#include "pellucid/pointwise.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/family_index.h"
#include "ops/family_pointwise.h"
#include "tensor/convert.h"
#include "tensor/make.h"

namespace pel {
namespace {

// What changes nothing when it is combined.
Scalar neutral(std::string_view reduce, DType dtype) {
  if (reduce == "sum" || reduce == "mean") return 0;
  if (reduce == "prod") return 1;
  const bool is_greatest = reduce == "amax";
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return is_greatest ? -infinity : infinity;
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto bound = is_greatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      return static_cast<std::int64_t>(bound);
    } else {
      return !is_greatest;
    }
  });
}

Tensor mean_of(const Tensor& sums, std::int64_t axis, const Tensor& index, IncludeSelf include_self) {
  const Tensor none = full_like(sums, include_self == IncludeSelf::Yes ? 1 : 0);
  const Tensor counts = scatter_add(none, axis, index, ones(index.sizes(), {sums.dtype(), sums.device()}));
  const Tensor divisors = masked_fill(counts, eq(counts, 0), 1);
  return div(sums, divisors,
             is_floating(sums.dtype()) ? std::nullopt : std::optional<std::string_view>("floor"));
}

Combine combine_of(std::string_view reduce) {
  constexpr struct {
    std::string_view name;
    Combine combine;
  } kKinds[] = {{"sum", Combine::Add},
                {"prod", Combine::Multiply},
                {"mean", Combine::Add},
                {"amax", Combine::Maximum},
                {"amin", Combine::Minimum}};
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const auto& kind) { return kind.name == reduce; });
  PEL_CHECK(found != std::end(kKinds), ValueError,
            "reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"{}\"", reduce);
  return found->combine;
}

const Tensor& scatter_reduce_in_place(const Op& op, const Tensor& self, std::int64_t axis,
                                      const Tensor& index, const Tensor& src, std::string_view reduce,
                                      IncludeSelf include_self) {
  const Combine combine = combine_of(reduce);
  if (include_self == IncludeSelf::No)
    launch_scatter(op, self, axis, index, number_beside(self, neutral(reduce, self.dtype())), Combine::Write);
  launch_scatter(op, self, axis, index, src, combine);
  if (reduce == "mean") return self.copy_(mean_of(self, axis, index, include_self));
  bump_version(self);
  return self;
}

Tensor scatter_reduce_body(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                           std::string_view reduce, IncludeSelf include_self) {
  Tensor result = clone(self, Layout::RowMajor);
  scatter_reduce_(result, axis, index, src, reduce, include_self);
  return result;
}

}  // namespace

namespace ops {
OpDef define_scatter_reduce() {
  OpDef def = define_op<scatter_reduce_body>(
      OpKind::Composite,
      "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
      "include_self=True) -> Tensor");
  def.forms.push_back(define_op<scatter_reduce_in_place>(
      OpKind::Kernel,
      "scatter_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool "
      "include_self=True) -> Tensor(a!)"));
  return def;
}
}  // namespace ops

Tensor scatter_reduce(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                      std::string_view reduce, IncludeSelf include_self, Site site) {
  return call<"scatter_reduce", scatter_reduce_body>(site, self, axis, index, src, reduce, include_self);
}
const Tensor& scatter_reduce_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                              std::string_view reduce, IncludeSelf include_self, Site site) {
  return call<"scatter_reduce_", scatter_reduce_in_place>(site, self, axis, index, src, reduce, include_self);
}

}  // namespace pel

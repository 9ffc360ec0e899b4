// src combined along an axis with the elements at the index: by sum, product, mean, max or min.
#include <algorithm>
#include <limits>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"
#include "tensor/convert.h"
#include "tensor/make.h"

namespace pel {
namespace {

// What changes nothing when it is combined.
Scalar neutral(ScatterReduce reduce, DType dtype) {
  if (reduce == ScatterReduce::Sum || reduce == ScatterReduce::Mean) return 0;
  if (reduce == ScatterReduce::Prod) return 1;
  const bool is_max = reduce == ScatterReduce::Amax;
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return is_max ? -infinity : infinity;
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto bound = is_max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      return static_cast<std::int64_t>(bound);
    } else {
      return !is_max;
    }
  });
}

Tensor mean_of(const Tensor& sums, std::int64_t axis, const Tensor& index, IncludeSelf include_self) {
  const Tensor none = full_like(sums, include_self == IncludeSelf::Yes ? 1 : 0);
  const Tensor counts = scatter_add(none, axis, index, ones(index.sizes(), {sums.dtype(), sums.device()}));
  const Tensor divisors = masked_fill(counts, eq(counts, 0), 1);
  return div(sums, divisors, is_floating(sums.dtype()) ? std::nullopt : std::optional(RoundingMode::Floor));
}

Combine combine_of(ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::Sum:
    case ScatterReduce::Mean:
      break;
    case ScatterReduce::Prod:
      return Combine::Multiply;
    case ScatterReduce::Amax:
      return Combine::Maximum;
    case ScatterReduce::Amin:
      return Combine::Minimum;
  }
  return Combine::Add;
}

const Tensor& scatter_reduce_in_place(const Op& op, const Tensor& self, std::int64_t axis,
                                      const Tensor& index, const Tensor& src, ScatterReduce reduce,
                                      IncludeSelf include_self) {
  const Combine combine = combine_of(reduce);
  if (include_self == IncludeSelf::No)
    launch_scatter(op, self, axis, index, new_number(self, neutral(reduce, self.dtype())), Combine::Write);
  launch_scatter(op, self, axis, index, src, combine);
  if (reduce == ScatterReduce::Mean) return self.copy_(mean_of(self, axis, index, include_self));
  bump_version(self);
  return self;
}

Tensor scatter_reduce_body(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                           ScatterReduce reduce, IncludeSelf include_self) {
  Tensor result = clone(self, Layout::RowMajor);
  scatter_reduce_(result, axis, index, src, reduce, include_self);
  return result;
}

struct ScatterGradients {
  Tensor self, src;  // src of the index's sizes
};

// Sums and means.
ScatterGradients sum_gradients(const Tensor& grad, std::int64_t axis, const Tensor& index,
                               ScatterReduce reduce, IncludeSelf include_self) {
  const Tensor each = reduce == ScatterReduce::Mean ? mean_of(grad, axis, index, include_self) : grad;
  return {each, gather(each, axis, index)};
}

// The gradient of a factor that is 0 is the product of the others, if no other is 0.
ScatterGradients product_gradients(const Vjp& v, const Tensor& src) {
  const auto axis = v.get<std::int64_t>("dim");
  const auto include_self = v.get<IncludeSelf>("include_self");
  const Tensor &grad = v.grad(), &self = v["self"], &index = v["index"];
  const auto product = [&](const Tensor& first, const Tensor& others) {
    return scatter_reduce(first, axis, index, others, ScatterReduce::Prod, include_self);
  };
  const Tensor nonzero_self = masked_fill(self, eq(self, 0), 1);
  const Tensor is_zero = eq(src, 0);
  const Tensor zeros_here =
      gather(scatter_add(zeros_like(self), axis, index, to(is_zero, self.dtype())), axis, index);
  const Tensor is_only_zero = logical_and(is_zero, eq(zeros_here, 1));
  const Tensor without_zero = product(self, masked_fill(src, is_only_zero, 1));
  return {grad * product(nonzero_self, src) / nonzero_self,
          where(is_only_zero, gather(grad * without_zero, axis, index),
                gather(grad * v["result"], axis, index) / masked_fill(src, is_zero, 1))};
}

// All that are equal to the result have equal shares.
ScatterGradients extreme_gradients(const Vjp& v, const Tensor& src) {
  const auto axis = v.get<std::int64_t>("dim");
  const Tensor &grad = v.grad(), &index = v["index"], &result = v["result"];
  const Tensor is_self = eq(v["self"], result), is_src = eq(src, gather(result, axis, index));
  const Tensor counts = scatter_add(to(is_self, grad.dtype()), axis, index, to(is_src, grad.dtype()));
  const Tensor share = grad / masked_fill(counts, eq(counts, 0), 1);
  return {where(is_self, share, 0), where(is_src, gather(share, axis, index), 0)};
}

// What self was is not there where it has no part, and what lies beyond the index has none.
std::vector<Tensor> placed_gradients(const Vjp& v, ScatterGradients grads) {
  const auto axis = v.get<std::int64_t>("dim");
  const Tensor& index = v["index"];
  if (v.get<IncludeSelf>("include_self") == IncludeSelf::No)
    grads.self = scatter(grads.self, axis, index, Scalar(0));
  if (v.wants("src")) grads.src = padded_to(grads.src, v.sizes("src"));
  return {grads.self, grads.src};
}

std::vector<Tensor> sums_gradients(const Vjp& v) {
  const auto reduce = v.get<ScatterReduce>("reduce");
  PEL_CHECK(combine_of(reduce) == Combine::Add, ValueError,
            "the gradient of \"{}\" needs what was there, which scatter_reduce_ has overwritten; use "
            "scatter_reduce",
            name(reduce));
  return placed_gradients(v, sum_gradients(v.grad(), v.get<std::int64_t>("dim"), v["index"], reduce,
                                           v.get<IncludeSelf>("include_self")));
}

std::vector<Tensor> scatter_reduce_gradients(const Vjp& v) {
  const auto reduce = v.get<ScatterReduce>("reduce");
  Tensor src = v["src"];
  for (std::int64_t i = 0; i < v["index"].dim() && src.dim() > 0; ++i)
    src = narrow(src, i, 0, v["index"].size(i));
  if (reduce == ScatterReduce::Prod) return placed_gradients(v, product_gradients(v, src));
  if (reduce == ScatterReduce::Amax || reduce == ScatterReduce::Amin)
    return placed_gradients(v, extreme_gradients(v, src));
  return sums_gradients(v);
}

}  // namespace

namespace ops {
OpDef define_scatter_reduce() {
  OpDef def = define_op<scatter_reduce_body>(
                  OpKind::Composite,
                  "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
                  "include_self=True) -> Tensor")
                  .vjp("self src", "self dim index src reduce include_self result", scatter_reduce_gradients)
                  .samples([](Sampler& s) {
                    SampleCalls calls;
                    for (const std::string_view reduce : enum_names<ScatterReduce>.spellings) {
                      for (const bool includes_self : {true, false}) {
                        calls.push_back({s.apart({3, 2}), Dim(0), s.indices(3, {4, 2}),
                                         s.apart({5, 2}) + 0.07, std::string(reduce), includes_self});
                      }
                    }
                    return calls;
                  });
  def.forms.push_back(
      define_op<scatter_reduce_in_place>(
          OpKind::Kernel,
          "scatter_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool "
          "include_self=True) -> Tensor(a!)")
          .vjp("self src", "dim index reduce include_self", sums_gradients));
  return def;
}
}  // namespace ops

Tensor scatter_reduce(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                      ScatterReduce reduce, IncludeSelf include_self, Site site) {
  return call<"scatter_reduce", scatter_reduce_body>(site, self, axis, index, src, reduce, include_self);
}
const Tensor& scatter_reduce_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                              ScatterReduce reduce, IncludeSelf include_self, Site site) {
  return call<"scatter_reduce_", scatter_reduce_in_place>(site, self, axis, index, src, reduce, include_self);
}

}  // namespace pel

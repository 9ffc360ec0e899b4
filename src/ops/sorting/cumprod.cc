// Cumulative products.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor cumprod_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  return run_scan(op, self, axis, dtype);
}

// Sums of grad * result over all that an element is a factor of, over the element. From the first 0 of a row
// on results are 0: it alone has a part in them, which is found by taking it for a 1.
Tensor cumprod_gradient(const Vjp& v) {
  const auto axis = v.get<std::int64_t>("dim");
  const Tensor self = to(v["self"], v.grad().dtype());
  const Tensor is_zero = eq(self, 0);
  const Tensor is_first = logical_and(is_zero, eq(cumsum(is_zero, axis), 1));
  const Tensor without_first = cumprod(masked_fill(self, is_first, 1), axis);
  return where(is_first, sums_from_here(v.grad() * without_first, axis),
               sums_from_here(v.grad() * v["result"], axis) / masked_fill(self, is_zero, 1));
}

}  // namespace

namespace ops {
OpDef define_cumprod() {
  return define_op<cumprod_body>(OpKind::Kernel,
                                 "cumprod(Tensor self, int dim, *, DType? dtype=None) -> Tensor")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "self result dim", cumprod_gradient)
      .samples(
          [](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(-1)}, {s({3, 2}), Dim(0)}, {s({}), Dim(0)}}; });
}
}  // namespace ops

Tensor cumprod(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"cumprod", cumprod_body>(site, self, axis, dtype);
}

}  // namespace pel

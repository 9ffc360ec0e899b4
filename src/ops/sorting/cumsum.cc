// Sums up to each element.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor cumsum_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  return run_scan(op, self, axis, dtype);
}

}  // namespace

namespace ops {
OpDef define_cumsum() {
  return define_op<cumsum_body>(OpKind::Kernel,
                                "cumsum(Tensor self, int dim, *, DType? dtype=None) -> Tensor")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "dim", [](const Vjp& v) { return sums_from_here(v.grad(), v.get<std::int64_t>("dim")); })
      .samples(
          [](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(-1)}, {s({3, 2}), Dim(0)}, {s({}), Dim(0)}}; });
}
}  // namespace ops

Tensor cumsum(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"cumsum", cumsum_body>(site, self, axis, dtype);
}

}  // namespace pel

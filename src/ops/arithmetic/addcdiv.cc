// self + value * tensor1 / tensor2, from the left.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

constexpr auto kPlain = pointwise_body<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;
constexpr auto kInPlace = pointwise_in_place<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;
constexpr auto kOut = pointwise_out<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;

}  // namespace

namespace ops {
OpDef define_addcdiv() {
  return pointwise<const Tensor&, const Tensor&, const Tensor&, const Scalar&>(
             "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
      .computes(kFloating)
      .formula([](Term a, Term x, Term y, Term value) { return a + value * x / y; })
      // Each step is rounded, as in PyTorch.
      .reference([](auto a, auto x, auto y, auto value) {
        using T = Computed<decltype(a)>;
        return a + static_cast<T>(value * x) / static_cast<T>(y);
      })
      .params({3})
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("tensor1", "tensor2 value",
           [](const Vjp& v) { return scaled(v.grad() / v["tensor2"], v.get<Scalar>("value")); })
      .vjp("tensor2", "tensor1 tensor2 value",
           [](const Vjp& v) {
             const Tensor ratio = v["tensor1"] / (v["tensor2"] * v["tensor2"]);
             return -scaled(v.grad() * ratio, v.get<Scalar>("value"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4}), s({3, 1}, 0.5, 2), Scalar(-1.5)}}; });
}
}  // namespace ops

Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
               Site site) {
  return call<"addcdiv", kPlain>(site, self, tensor1, tensor2, value);
}
const Tensor& addcdiv_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                       Site site) {
  return call<"addcdiv_", kInPlace>(site, self, tensor1, tensor2, value);
}
const Tensor& addcdiv_out(const Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                          const Scalar& value, Site site) {
  return call<"addcdiv.out", kOut>(site, out, self, tensor1, tensor2, value);
}

}  // namespace pel

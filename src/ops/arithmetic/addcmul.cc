// self + value * tensor1 * tensor2, multiplied from the left.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

constexpr auto kPlain = pointwise_body<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;
constexpr auto kInPlace = pointwise_in_place<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;
constexpr auto kOut = pointwise_out<const Tensor&, const Tensor&, const Tensor&, const Scalar&>;

}  // namespace

namespace ops {
OpDef define_addcmul() {
  return pointwise<const Tensor&, const Tensor&, const Tensor&, const Scalar&>(
             "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
      .computes(kFloating | kIntegral)
      .formula([](Term a, Term x, Term y, Term value) {
        const Term scaled = value * x;
        return is_floating(a.type()) ? fma(scaled, y, a) : a + scaled * y;
      })
      // The first product is rounded, as in PyTorch.
      .reference([](auto a, auto x, auto y, auto value) {
        const auto scaled = static_cast<Computed<decltype(a)>>(value * x);
        return std::fma(static_cast<decltype(a)>(scaled), y, a);
      })
      // The product of three is wider than WideInt; only its low bits count, and those stay right.
      .reference_int([](WideInt a, WideInt x, WideInt y, WideInt value) {
        return a + static_cast<WideInt>(static_cast<std::int64_t>(value * x)) * y;
      })
      .params({3})
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("tensor1", "tensor2 value",
           [](const Vjp& v) { return scaled(v.grad() * v["tensor2"], v.get<Scalar>("value")); })
      .vjp("tensor2", "tensor1 value",
           [](const Vjp& v) { return scaled(v.grad() * v["tensor1"], v.get<Scalar>("value")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4}), s({3, 1}), Scalar(-1.5)}}; });
}
}  // namespace ops

Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
               Site site) {
  return call<"addcmul", kPlain>(site, self, tensor1, tensor2, value);
}
const Tensor& addcmul_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                       Site site) {
  return call<"addcmul_", kInPlace>(site, self, tensor1, tensor2, value);
}
const Tensor& addcmul_out(const Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                          const Scalar& value, Site site) {
  return call<"addcmul.out", kOut>(site, out, self, tensor1, tensor2, value);
}

}  // namespace pel

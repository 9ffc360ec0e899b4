// self * cos + sign * other * sin: one coordinate of a rotation in the plane. The second product is rounded
// first.
#include "pellucid/ops/attention.h"
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

constexpr auto kPlain =
    pointwise_body<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Scalar&>;
constexpr auto kOut =
    pointwise_out<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Scalar&>;

}  // namespace

namespace ops {
OpDef define_rotate_pair() {
  return pointwise<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Scalar&>(
             "rotate_pair(Tensor self, Tensor other, Tensor cos, Tensor sin, *, Scalar sign=1) -> Tensor")
      .forms(Forms::Out)
      .computes(kFloating)
      .formula([](Term x, Term y, Term c, Term s, Term sign) { return fma(x, c, sign * y * s); })
      .reference([](auto x, auto y, auto c, auto s, auto sign) {
        const auto rotated = static_cast<Computed<decltype(x)>>(sign * y * s);
        return std::fma(x, c, static_cast<decltype(x)>(rotated));
      })
      .magnitude([](double x, double y, double c, double s, double sign) {
        return std::abs(x * c) + std::abs(sign * y * s);
      })
      .max_ulp(1.5)  // in f64 the reference rounds its product twice
      .params({-1})
      .vjp("self", "cos", [](const Vjp& v) { return v.grad() * v["cos"]; })
      .vjp("other", "sin sign",
           [](const Vjp& v) { return scaled(v.grad() * v["sin"], v.get<Scalar>("sign")); })
      .vjp("cos", "self", [](const Vjp& v) { return v.grad() * v["self"]; })
      .vjp("sin", "other sign",
           [](const Vjp& v) { return scaled(v.grad() * v["other"], v.get<Scalar>("sign")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({3, 4}), s({4}), s({4}), Scalar(-1)}}; });
}
}  // namespace ops

namespace internal {
Tensor rotate_pair(const Tensor& self, const Tensor& other, const Tensor& cos, const Tensor& sin,
                   const Scalar& sign, Site site) {
  return call<"rotate_pair", kPlain>(site, self, other, cos, sin, sign);
}
const Tensor& rotate_pair_out(const Tensor& out, const Tensor& self, const Tensor& other, const Tensor& cos,
                              const Tensor& sin, const Scalar& sign, Site site) {
  return call<"rotate_pair.out", kOut>(site, out, self, other, cos, sin, sign);
}
}  // namespace internal

}  // namespace pel

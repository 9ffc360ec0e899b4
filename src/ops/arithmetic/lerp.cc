// self + weight * (end - self), counted from the nearer end, so that both ends are exact.
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

constexpr auto kPlain = pointwise_body<const Tensor&, const Tensor&, const Tensor&>;
constexpr auto kInPlace = pointwise_in_place<const Tensor&, const Tensor&, const Tensor&>;
constexpr auto kOut = pointwise_out<const Tensor&, const Tensor&, const Tensor&>;

}  // namespace

namespace ops {
OpDef define_lerp() {
  return pointwise<const Tensor&, const Tensor&, const Tensor&>(
             "lerp(Tensor self, Tensor end, Tensor weight) -> Tensor")
      .computes(kFloating)
      .formula([](Term a, Term b, Term weight) {
        const Term way = b - a;
        return select(abs(weight) < 0.5, fma(weight, way, a), fma(-way, 1 - weight, b));
      })
      .reference([](auto a, auto b, auto weight) {
        const auto way = static_cast<Computed<decltype(a)>>(b - a);  // infinite where it overflows
        return std::abs(weight) < 0.5 ? a + weight * way : b - way * (1 - weight);
      })
      .magnitude([](double a, double b, double weight) {
        return std::abs(weight) < 0.5 ? std::abs(a) + std::abs(weight * (b - a))
                                      : std::abs(b) + std::abs((1 - weight) * (b - a));
      })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(-10, 10)
      .domain(-1, 2)
      .vjp("self", "weight",
           [](const Vjp& v) { return v.grad() * (1 - as_tensor_for(v.grad(), v["weight"])); })
      .vjp("end", "weight", [](const Vjp& v) { return v.grad() * v["weight"]; })
      .vjp("weight", "self end", [](const Vjp& v) { return v.grad() * (v["end"] - v["self"]); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4}), s({3, 1}, 0.1, 0.9)}}; });
}
}  // namespace ops

Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight, Site site) {
  return call<"lerp", kPlain>(site, self, end, weight);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight, Site site) {
  return pel::lerp(self, end, new_number(self, weight), site);
}
const Tensor& lerp_(const Tensor& self, const Tensor& end, const Tensor& weight, Site site) {
  return call<"lerp_", kInPlace>(site, self, end, weight);
}
const Tensor& lerp_(const Tensor& self, const Tensor& end, const Scalar& weight, Site site) {
  return pel::lerp_(self, end, new_number(self, weight), site);
}
const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight,
                       Site site) {
  return call<"lerp.out", kOut>(site, out, self, end, weight);
}
const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Scalar& weight,
                       Site site) {
  return pel::lerp_out(out, self, end, new_number(self, weight), site);
}

}  // namespace pel

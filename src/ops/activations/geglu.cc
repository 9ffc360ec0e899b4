// gelu(gate) * up. What gelu stores is rounded here, too: the bits are those of the two ops.
#include "pellucid/ops/internal.h"

#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Tensor geglu_body(const Op& op, const Tensor& gate, const Tensor& up, GeluApproximate approximate) {
  return run_pointwise(op, {gate, up}, {}, static_cast<std::size_t>(approximate));
}

std::vector<Tensor> geglu_composition(const std::vector<Value>& args) {
  const bool is_tanh = args.size() > 2 && std::get<std::string>(args[2]) == "tanh";
  return {gelu(std::get<Tensor>(args[0]), is_tanh ? GeluApproximate::Tanh : GeluApproximate::None) *
          std::get<Tensor>(args[1])};
}

template <class T>
T reference_gelu_by_tanh(T x) {
  constexpr T kRoot = T(1.59576912160573071175978423973752747L), kCubic = T(0.044715L);  // 2 sqrt(2 / pi)
  return x / (1 + std::exp(-kRoot * (x + kCubic * x * x * x)));
}

}  // namespace

namespace ops {
OpDef define_geglu() {
  return PointwiseDef(
             define_op<geglu_body>(OpKind::Kernel,
                                   "geglu(Tensor gate, Tensor up, *, str approximate='none') -> Tensor"),
             OpDef(), OpDef(), 2, 0)
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term gate, Term up) { return gelu(gate) * up; })
      .half([](Term gate, Term up, DType half) { return rounded(gelu_half(gate, half), half) * up; })
      .half_ulp(6.6)  // 1.5, and half of the smallest f16 times the largest up
      .reference([](auto gate, auto up) {
        using T = decltype(gate);
        return gate * (std::erfc(-gate / std::numbers::sqrt2_v<T>) / 2) * up;
      })
      .max_ulp(9)
      .formula([](Term gate, Term up) { return gelu_tanh(gate) * up; }, "tanh")
      .half([](Term gate, Term up, DType half) { return rounded(gelu_tanh_half(gate, half), half) * up; })
      .half_ulp(6.6)  // 1.5, and half of the smallest f16 times the largest up
      .reference([](auto gate, auto up) { return reference_gelu_by_tanh(gate) * up; })
      .max_ulp(7)
      .domain(-4, 4)
      .domain(-10, 10)
      .no_extremes()
      .vjp("gate up", "gate up approximate",
           [](const Vjp& v) {
             const auto approximate = v.get<GeluApproximate>("approximate");
             return std::vector<Tensor>{internal::gelu_backward(v.grad() * v["up"], v["gate"], approximate),
                                        v.grad() * gelu(as_tensor_for(v.grad(), v["gate"]), approximate)};
           })
      .composition(geglu_composition,
                   [](Sampler& s, Dims sizes) { return std::vector<Value>{s(sizes), s(sizes)}; })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({3, 4}), std::string("tanh")}}; });
}
}  // namespace ops

Tensor geglu(const Tensor& gate, const Tensor& up, GeluApproximate approximate, Site site) {
  return call<"geglu", geglu_body>(site, gate, up, approximate);
}

}  // namespace pel

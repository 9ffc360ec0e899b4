// silu(gate) * up. What silu stores is rounded here, too: the bits are those of the two ops.
#include "pellucid/ops/internal.h"

#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_swiglu() {
  return pointwise<const Tensor&, const Tensor&>("swiglu(Tensor gate, Tensor up) -> Tensor")
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term gate, Term up) { return silu(gate) * up; })
      .half([](Term gate, Term up, DType half) { return rounded(silu_half(gate, half), half) * up; })
      .half_ulp(6.6)  // 1.5, and half of the smallest f16 times the largest up
      .reference([](auto gate, auto up) { return gate / (1 + std::exp(-gate)) * up; })
      .max_ulp(7)
      .domain(-10, 10)
      .domain(-10, 10)
      .no_extremes()
      .vjp("gate up", "gate up",
           [](const Vjp& v) {
             return std::vector<Tensor>{internal::silu_backward(v.grad() * v["up"], v["gate"]),
                                        v.grad() * silu(as_tensor_for(v.grad(), v["gate"]))};
           })
      .composition(
          [](const std::vector<Value>& args) {
            return std::vector<Tensor>{silu(std::get<Tensor>(args[0])) * std::get<Tensor>(args[1])};
          },
          [](Sampler& s, Dims sizes) { return std::vector<Value>{s(sizes), s(sizes)}; });
}
}  // namespace ops

Tensor swiglu(const Tensor& gate, const Tensor& up, Site site) {
  return call<"swiglu", pointwise_body<const Tensor&, const Tensor&>>(site, gate, up);
}

}  // namespace pel

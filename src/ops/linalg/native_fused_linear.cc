// activation(input weight^T + bias) + residual, each step rounded to the dtype, and what the activation is
// of.
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "ops/shared/operands.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"
#include "packing/packing.h"
#include "tensor/make.h"

namespace pel {
namespace {

using internal::SavesLinear;

std::tuple<Tensor, Tensor> native_fused_linear_body(const Op& op, const Tensor& input, const Tensor& weight,
                                                    const std::optional<Tensor>& bias,
                                                    LinearActivation activation,
                                                    const std::optional<Tensor>& residual,
                                                    SavesLinear saves_linear) {
  const DType dtype = check_floating(input);
  PEL_CHECK(input.dim() == 2 && weight.dim() == 2 && input.sizes()[1] == weight.sizes()[1], ShapeError,
            "input is [rows, in] and weight [out, in], not {} and {}", describe(input), describe(weight));
  const Dim sizes[] = {input.sizes()[0], weight.sizes()[0]};
  const Tensor right =
      make_view(weight, {weight.sizes()[1], weight.sizes()[0]}, {weight.strides()[1], weight.strides()[0]});
  std::vector<Tensor> inputs = {input, right};
  for (const std::optional<Tensor>* each : {&bias, &residual})
    if (*each) inputs.push_back(broadcast_view(**each, Dims(sizes, 2)));
  for (const Tensor& each : inputs)
    PEL_CHECK(each.dtype() == dtype, DTypeError,
              "the operands must have one dtype, not {} and {}: convert one of them", name(dtype),
              name(each.dtype()));
  offer_to_cache(right);
  const Tensor result = make_dense(Dims(sizes, 2), dtype, input.device());
  const bool saves = saves_linear == SavesLinear::Yes;
  const Tensor before =
      saves ? make_dense(Dims(sizes, 2), dtype, input.device()) : make_dense({0}, dtype, input.device());
  std::vector<TensorRef> outputs = {result};
  if (saves) outputs.emplace_back(before);
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  launch(op, outputs, refs,
         {Scalar(static_cast<std::int64_t>(activation)), Scalar(bias ? 1 : 0), Scalar(residual ? 1 : 0)});
  return {result, before};
}

Tensor through_activation(LinearActivation activation, const Tensor& grad, const Tensor& x) {
  switch (activation) {
    case LinearActivation::None:
      return grad;
    case LinearActivation::Gelu:
      return internal::gelu_backward(grad, x);
    case LinearActivation::GeluTanh:
      return internal::gelu_backward(grad, x, GeluApproximate::Tanh);
    case LinearActivation::Silu:
      return internal::silu_backward(grad, x);
    case LinearActivation::Relu:
      return internal::threshold_backward(grad, x, 0);
  }
  PEL_ASSERT(false, "an activation");
}

// The gradients of input, weight, bias and residual.
std::vector<Tensor> native_fused_linear_gradient(const Vjp& v) {
  const Tensor &input = v["input"], &weight = v["weight"];
  const auto bias = v.get<std::optional<Tensor>>("bias");
  const auto activation = v.get<LinearActivation>("activation");
  const bool saved = v.get<SavesLinear>("saves_linear") == SavesLinear::Yes;
  Tensor to_linear;
  if (v.has_grad(0)) {
    const Tensor x = saved                                  ? v["result1"]
                     : activation == LinearActivation::None ? Tensor()
                                                            : linear(input, weight, bias);
    to_linear = through_activation(activation, v.grad(0), x);
  }
  if (saved && v.has_grad(1)) to_linear = sum_of_flows(to_linear, v.grad(1));
  if (!to_linear.defined()) return {Tensor(), Tensor(), Tensor(), Tensor()};
  return {v.wants("input") ? product_gradient(to_linear, weight, v.strides("input")) : Tensor(),
          v.wants("weight") ? mm(to_linear.t(), input) : Tensor(), bias ? to_linear : Tensor(),
          grad_or_none(v, 0)};
}

}  // namespace

namespace ops {
OpDef define_native_fused_linear() {
  return define_op<native_fused_linear_body>(
             OpKind::Kernel,
             "native_fused_linear(Tensor input, Tensor weight, Tensor? bias=None, str activation='none', "
             "Tensor? residual=None, bool saves_linear=False) -> (Tensor, Tensor)")
      .dtypes(kFloating)
      .vjp("input weight bias residual", "input weight bias activation saves_linear result1",
           native_fused_linear_gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2}), s({4}), std::string("gelu"), s({3, 4}), true},
                           {s({3, 2}), s({4, 2}), Value(), std::string("silu")},
                           {s({3, 2}), s({4, 2}), s({4}), std::string("gelu_tanh"), Value(), true},
                           {s({3, 2}), s({4, 2}), Value(), std::string("none"), s({3, 4})}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor> native_fused_linear(const Tensor& input, const Tensor& weight,
                                               const std::optional<Tensor>& bias, LinearActivation activation,
                                               const std::optional<Tensor>& residual,
                                               SavesLinear saves_linear, Site site) {
  return call<"native_fused_linear", native_fused_linear_body>(site, input, weight, bias, activation,
                                                               residual, saves_linear);
}
}  // namespace internal

}  // namespace pel

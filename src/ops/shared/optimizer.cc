#include "ops/shared/optimizer.h"

#include "base/check.h"
#include "dispatch/pointwise.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {
namespace {

bool is_alike(const Tensor& a, const Tensor& b) {
  return agree(a.sizes(), b.sizes()) && agree(a.strides(), b.strides());
}

// No gaps: its elements are as many as its memory is long.
bool is_dense(const Tensor& t) { return t.is_contiguous() || extent(t.sizes(), t.strides()) == t.numel(); }

}  // namespace

const Tensor& run_optimizer(const Op& op, const Tensor& step, const Tensor& lr, ArrayView<Tensor> params,
                            ArrayView<Tensor> grads, ArrayView<ArrayView<Tensor>> states,
                            ArrayView<Scalar> numbers) {
  PEL_CHECK(params.size() == grads.size(), ValueError, "{} parameters and {} gradients are given",
            params.size(), grads.size());
  PEL_CHECK(step.dim() == 0 && lr.dim() == 0 && step.dtype() == kF32 && lr.dtype() == kF32, ValueError,
            "step and lr are f32 without axes, not {} and {}", describe(step), describe(lr));
  std::vector<Tensor> copies;
  copies.reserve(grads.size());
  std::vector<TensorRef> outputs = {step}, inputs = {lr};
  outputs.insert(outputs.end(), params.begin(), params.end());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor &param = params[i], &grad = grads[i];
    PEL_CHECK(is_dense(param), ValueError,
              "parameter {}, {} with strides {}, has gaps in memory; pass a clone", i, describe(param),
              to_string(param.strides()));
    PEL_CHECK(agree(param.sizes(), grad.sizes()), ShapeError, "parameter {} is {} and its gradient {}", i,
              describe(param), describe(grad));
    if (is_alike(param, grad) && grad.dtype() == param.dtype()) {
      inputs.emplace_back(grad);
      continue;
    }
    copies.push_back(make_strided(param.sizes(), param.strides(), param.dtype(), param.device()));
    launch(pel::op<"copy_">(), {copies.back()}, {grad});
    inputs.emplace_back(copies.back());
  }
  for (const ArrayView<Tensor> state : states) {
    PEL_CHECK(state.size() == params.size(), ValueError, "{} parameters and {} states are given",
              params.size(), state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      PEL_CHECK(is_alike(state[i], params[i]) && state[i].dtype() == value_type(params[i].dtype()),
                ValueError, "state {} is {}, which does not fit the parameter {}", i, describe(state[i]),
                describe(params[i]));
      outputs.emplace_back(state[i]);
    }
  }
  launch(op, outputs, inputs, numbers);
  for (const TensorRef& written : outputs) bump_version(*written.tensor);
  return step;
}

}  // namespace pel

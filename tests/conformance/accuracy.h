// How far a result is from what the record of its op says it should be, and a kernel called on its own to
// ask.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "base/check.h"
#include "conformance/values.h"
#include "support/environment.h"

namespace pel::conformance {

using test::test_share;

// "gelu:tanh"
inline std::string label(const Op& op, std::size_t formula) {
  const std::string& suffix = op.pointwise()->formulas[formula].suffix;
  return std::string(op.name()) + (suffix.empty() ? "" : ":" + suffix);
}

// A dense array.
struct Elements {
  const void* data;
  DType dtype;
};

// What a reference or a magnitude says of element i.
template <class Number, class F>
Number reference_at(const F& reference, const std::vector<Elements>& inputs,
                    const std::vector<double>& params, std::int64_t i, DType compute) {
  Number args[8];
  std::size_t n = 0;
  for (const Elements& input : inputs) args[n++] = element<Number>(input.data, input.dtype, i);
  // A number takes the type that is computed in, as an input does.
  for (const double value : params) {
    args[n++] = compute == kF64 || !is_floating(compute) ? static_cast<Number>(value)
                                                         : static_cast<Number>(static_cast<float>(value));
  }
  return static_cast<Number>(reference(args));
}

// The error that the record allows, in units of the last place of `compute`.
inline double bound_of(const Formula& formula, DType compute) {
  if (compute == kF64) return formula.max_ulp_f64;
  if (compute == kF32) return formula.max_ulp;
  return formula.build_half ? formula.half_ulp : 0.5 + formula.max_ulp / 256;
}
inline bool is_within(double error, double bound) { return error <= bound * (1 + 1e-9); }

struct Deviation {
  double error;  // in units of the last place; for results that are true or false, 0 or infinity
  double got, wanted;
};
// Of element i of a result that was computed in a floating dtype.
inline Deviation deviation_at(const Formula& formula, const std::vector<Elements>& inputs,
                              const std::vector<double>& params, Elements result, std::int64_t i,
                              DType compute) {
  const auto got = element<double>(result.data, result.dtype, i);
  const auto exact = compute == kF64
                         ? reference_at<long double>(formula.reference_f64, inputs, params, i, compute)
                         : reference_at<double>(formula.reference, inputs, params, i, compute);
  const auto wanted = static_cast<double>(exact);
  if (result.dtype == kBool) {
    const bool same = (got != 0) == (exact != 0);
    return {same ? 0 : std::numeric_limits<double>::infinity(), got, wanted};
  }
  const double scale =
      formula.magnitude ? reference_at<double>(formula.magnitude, inputs, params, i, compute) : 0;
  if (compute == kF64) return {error_in_ulp<long double>(got, exact, scale, kF64), got, wanted};
  return {error_in_ulp<double>(got, wanted, scale, compute), got, wanted};
}

// The number arguments that tests pass.
inline std::vector<double> test_params(const Pointwise& facts) {
  std::vector<double> values = facts.param_values;
  values.resize(static_cast<std::size_t>(facts.param_count), 1.0);
  return values;
}

// The kernel of one formula and dtype that was built ahead of time, called without tensors.
class PrebuiltCall {
 public:
  PrebuiltCall(const Op& op, std::size_t formula, DType compute)
      : expr_(make_expr(*op.pointwise(), formula, compute)), params_(test_params(*op.pointwise())) {
    PEL_CHECK(cpu::active_isa().has_value(), DeviceError, "this processor has no AVX2");
    const cpu::PrebuiltKernel* kernel =
        cpu::find_prebuilt(cpu::kernel_name(op, formula, compute), *cpu::active_isa());
    PEL_CHECK(kernel != nullptr, NoKernelError, "{} has no kernel for {}", label(op, formula), name(compute));
    function_ = kernel->function;
    for (const double value : params_)
      scalars_.push_back({value, convert<std::int64_t>(value), PEL_SCALAR_FLOAT, {}});
  }

  const std::vector<DType>& input_types() const { return expr_.inputs; }
  DType result_type() const { return expr_.nodes[static_cast<std::size_t>(expr_.results[0])].type; }
  const std::vector<double>& params() const { return params_; }
  // Whether the formula looks at its numbers; "add" without alpha does not.
  bool uses_params() const {
    for (const scalar::ScalarNode& node : expr_.nodes) {
      for (const std::int32_t arg : node.args) {
        if (arg >= 0 && expr_.nodes[static_cast<std::size_t>(arg)].op == scalar::ScalarOp::Param) return true;
      }
    }
    return false;
  }

  void run(std::int64_t count, void* result, const std::vector<Elements>& inputs) const {
    void* data[8] = {result};
    std::int64_t strides[8] = {1};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      data[i + 1] = const_cast<void*>(inputs[i].data);
      strides[i + 1] = 1;
    }
    function_(count, data, strides, scalars_.data());
  }

 private:
  scalar::ScalarExpr expr_;
  std::vector<double> params_;
  std::vector<PelScalar> scalars_;
  codegen::PelLoopFn* function_;
};

}  // namespace pel::conformance

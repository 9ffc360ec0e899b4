#include "ops/shared/pointwise.h"

#include <algorithm>

#include "base/check.h"
#include "ops/shared/operands.h"
#include "tensor/dim_context.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel {
namespace {

[[gnu::noinline]] DType promoted_from_unlike(ArrayView<TensorRef> inputs) {
  std::vector<PromotionOperand> operands;
  for (const TensorRef& input : inputs) operands.push_back(PromotionOperand(*input.tensor));
  return result_type(operands);
}
DType promoted(ArrayView<TensorRef> inputs) {
  const DType first = inputs[0].tensor->dtype();
  for (const TensorRef& input : inputs) {
    if (input.tensor->dtype() != first || input.tensor->header()->is_number) [[unlikely]]
      return promoted_from_unlike(inputs);
  }
  return first;
}

[[gnu::cold]] void check_refused(const Pointwise& facts, ArrayView<TensorRef> inputs) {
  for (const TensorRef& input : inputs)
    PEL_CHECK(!facts.refuses.contains(input.tensor->dtype()), DTypeError, "the op does not take {}; {}",
              describe(*input.tensor), facts.advice);
}

DType compute_dtype(const Pointwise& facts, ArrayView<TensorRef> inputs) {
  if (facts.refuses != DTypeSet()) check_refused(facts, inputs);
  if (facts.takes_condition) {
    PEL_CHECK(inputs[0].tensor->dtype() == kBool, DTypeError, "the condition is bool, not {}",
              describe(*inputs[0].tensor));
    inputs = {inputs.data() + 1, inputs.size() - 1};
  }
  const DType dtype = facts.compute_dtype(promoted(inputs));
  PEL_CHECK(facts.computes.contains(dtype), DTypeError, "the op computes in {}; its operands promote to {}",
            to_string(facts.computes), name(dtype));
  return dtype;
}

DimVector broadcast_sizes(ArrayView<TensorRef> inputs) {
  DimVector sizes;
  for (const TensorRef& input : inputs) {
    const Dims own = input.tensor->sizes();
    const std::optional<std::size_t> axis = broadcast_clash(sizes, own);
    PEL_CHECK(!axis, ShapeError, "sizes {} and {} do not broadcast: {} against {} at axis {}",
              to_string(inputs[0].tensor->sizes()), to_string(own), to_string(sizes[*axis]),
              to_string(own[*axis + own.size() - sizes.size()]),
              static_cast<std::int64_t>(*axis) - static_cast<std::int64_t>(sizes.size()));
  }
  return sizes;
}

DimVector result_strides(Dims sizes, ArrayView<TensorRef> inputs) {
  std::vector<DimVector> strides;
  for (const TensorRef& input : inputs) {
    const Tensor& t = *input.tensor;
    DimVector own(sizes.size());
    const std::size_t before = sizes.size() - t.sizes().size();
    for (std::size_t i = 0; i < t.sizes().size(); ++i) {
      // Whether they are the same is known since they were broadcast.
      const Dim size = t.sizes()[i], wide = sizes[before + i];
      const bool repeats =
          size.is_symbolic() ? !(size == wide) : is_literally(size, 1) && !is_literally(wide, 1);
      own[before + i] = repeats ? Dim(0) : t.strides()[i];
    }
    strides.push_back(own);
  }
  return dense_strides_of(sizes, strides);
}

// The device of a call, whose numbers may be on the CPU.
Device device_of_call(ArrayView<TensorRef> inputs) {
  for (const TensorRef& input : inputs)
    if (!input.tensor->header()->is_number) return input.tensor->device();
  return inputs[0].tensor->device();
}

[[gnu::noinline]] Tensor make_result_of_unlike(ArrayView<TensorRef> inputs, DType dtype) {
  const Tensor& first = *inputs[0].tensor;
  const Device device = device_of_call(inputs);
  const bool alike = std::all_of(inputs.begin(), inputs.end(), [&](const TensorRef& input) {
    return identical(input.tensor->sizes(), first.sizes()) &&
           identical(input.tensor->strides(), first.strides());
  });
  if (inputs.size() == 1 || (alike && is_dense(first.sizes(), first.strides())))
    return make_like(first, dtype, device);
  const DimVector sizes = broadcast_sizes(inputs);
  return make_strided(sizes, result_strides(sizes, inputs), dtype, device);
}
Tensor make_result(ArrayView<TensorRef> inputs, DType dtype) {
  const Tensor& first = *inputs[0].tensor;
  for (const TensorRef& input : inputs) {
    const Tensor& t = *input.tensor;
    if (!t.header()->is_row_major || !identical(t.sizes(), first.sizes())) [[unlikely]]
      return make_result_of_unlike(inputs, dtype);
  }
  return make_dense(first.sizes(), dtype, first.device());
}

}  // namespace

Tensor run_pointwise(const Op& op, ArrayView<TensorRef> inputs, ArrayView<Scalar> params,
                     std::size_t formula) {
  const Pointwise& facts = *op.pointwise();
  const DType compute = compute_dtype(facts, inputs);
  Tensor result = make_result(inputs, facts.result_dtype(compute));
  launch(op, {result}, inputs, params, Computation{compute, static_cast<std::uint8_t>(formula)});
  return result;
}

const Tensor& run_pointwise_into(const Op& op, const Tensor& out, ArrayView<TensorRef> inputs,
                                 ArrayView<Scalar> params, std::size_t formula) {
  const Pointwise& facts = *op.pointwise();
  const DType compute = compute_dtype(facts, inputs);
  const DType dtype = facts.result_dtype(compute);
  PEL_CHECK(can_cast(dtype, out.dtype()), DTypeError, "the result is {}, which cannot be written into {}",
            name(dtype), describe(out));
  const bool alike = std::all_of(inputs.begin(), inputs.end(), [&](const TensorRef& input) {
    return identical(input.tensor->sizes(), out.sizes());
  });
  if (!alike) {
    const DimVector sizes = broadcast_sizes(inputs);
    bool fits = sizes.size() == out.sizes().size();
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) fits = sizes[i] == out.sizes()[i];
    PEL_CHECK(fits, ShapeError, "the result has sizes {}, which cannot be written into {}", to_string(sizes),
              describe(out));
  }
  launch(op, {out}, inputs, params, Computation{compute, static_cast<std::uint8_t>(formula)});
  bump_version(out);
  return out;
}

Tensor make_number(const Scalar& value, Device device) {
  const DType dtype = value.is_float() ? kF64 : value.default_dtype();
  // Bodies ask for a number's value while they are captured; to store a symbolic one would fix the size.
  const NewDataScope scope(value.is_symbolic() ? NewData::None : NewData::Real);
  // The value goes into the launch: on an asynchronous device it needs no memory.
  const bool stays_on_host = is_asynchronous(device);
  Tensor number = make_dense({}, dtype, stays_on_host ? kCpu : device);
  number.header()->is_number = true;
  // So that ops look at all operands to find the device of their result.
  if (stays_on_host) number.header()->is_row_major = false;
  if (value.is_symbolic()) {
    dim_context().keep_number(number, value.dim());
  } else if (number.has_data()) {
    store_element(dtype, number.raw_data(), value);
  }
  return number;
}

namespace pointwise_detail {

namespace {
std::string_view op_name(std::string_view schema) { return schema.substr(0, schema.find('(')); }
std::string_view arguments(std::string_view schema) {
  const std::size_t open = schema.find('(');
  return schema.substr(open + 1, schema.rfind(')') - open - 1);
}
}  // namespace

std::string in_place_schema(std::string_view schema) {
  std::string args(arguments(schema));
  return fmt::format("{}_({}) -> Tensor(a!)", op_name(schema), args.replace(0, 6, "Tensor(a!)"));
}
std::string out_schema(std::string_view schema) {
  return fmt::format("{}.out(Tensor(a!) out, {}) -> Tensor(a!)", op_name(schema), arguments(schema));
}

}  // namespace pointwise_detail

PointwiseDef::PointwiseDef(OpDef plain, OpDef in_place, OpDef out, int inputs, int params)
    : plain_(std::move(plain)),
      in_place_(std::move(in_place)),
      out_(std::move(out)),
      facts_(std::make_shared<Pointwise>()) {
  facts_->input_count = inputs;
  facts_->param_count = params;
}

PointwiseDef::operator OpDef() {
  PEL_ASSERT(!facts_->formulas.empty(), "a pointwise op has a formula");
  plain_.pointwise = in_place_.pointwise = out_.pointwise = facts_;
  if (facts_->gives == Pointwise::Gives::Bool) plain_.gradient_facts().is_zero = true;
  in_place_.gradient = out_.gradient = plain_.gradient;
  if (forms_ == Forms::All) plain_.forms.push_back(std::move(in_place_));
  if (forms_ != Forms::Plain) plain_.forms.push_back(std::move(out_));
  return std::move(plain_);
}

PointwiseDef PointwiseDef::floating() && {
  facts_->computes_in = Pointwise::ComputesIn::Floating;
  facts_->computes = kFloating;
  return std::move(*this);
}
PointwiseDef PointwiseDef::computes(DTypeSet dtypes) && {
  facts_->computes = dtypes;
  return std::move(*this);
}
PointwiseDef PointwiseDef::gives_bool() && {
  facts_->gives = Pointwise::Gives::Bool;
  return std::move(*this);
}
PointwiseDef PointwiseDef::takes_condition() && {
  facts_->takes_condition = true;
  return std::move(*this);
}
PointwiseDef PointwiseDef::swaps_inputs() && {
  facts_->swaps_inputs = true;
  return std::move(*this);
}
PointwiseDef PointwiseDef::refuses(DTypeSet dtypes, std::string advice) && {
  facts_->refuses = dtypes;
  facts_->advice = std::move(advice);
  return std::move(*this);
}
PointwiseDef PointwiseDef::divides() && {
  facts_->divides = true;
  return std::move(*this);
}
PointwiseDef PointwiseDef::forms(Forms forms) && {
  forms_ = forms;
  return std::move(*this);
}
PointwiseDef PointwiseDef::no_vjp(std::string of) && {
  plain_.add_vjp(std::move(of), "", nullptr);
  return std::move(*this);
}
PointwiseDef PointwiseDef::not_differentiable() && {
  plain_.gradient_facts().is_zero = true;
  return std::move(*this);
}
PointwiseDef PointwiseDef::autocast(CastRule rule) && {
  plain_.cast_rule = rule;
  return std::move(*this);
}
PointwiseDef PointwiseDef::samples(std::function<SampleCalls(Sampler&)> calls) && {
  plain_.sample_calls = std::move(calls);
  return std::move(*this);
}
PointwiseDef PointwiseDef::max_ulp(double f32, double f64) && {
  last().max_ulp = f32;
  last().max_ulp_f64 = f64;
  return std::move(*this);
}
PointwiseDef PointwiseDef::domain(double low, double high) && {
  facts_->domains.push_back({low, high});
  return std::move(*this);
}
PointwiseDef PointwiseDef::params(std::vector<double> values) && {
  facts_->param_values = std::move(values);
  return std::move(*this);
}
PointwiseDef PointwiseDef::no_extremes() && {
  facts_->tries_extremes = false;
  return std::move(*this);
}

PointwiseDef unary(std::string_view name) {
  return pointwise<const Tensor&>(fmt::format("{}(Tensor self) -> Tensor", name));
}
PointwiseDef binary(std::string_view name) {
  return pointwise<const Tensor&, const Tensor&>(
      fmt::format("{}(Tensor self, Tensor other) -> Tensor", name));
}

}  // namespace pel

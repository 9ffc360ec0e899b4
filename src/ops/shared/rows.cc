#include "ops/shared/rows.h"

#include <array>

#include "base/check.h"
#include "base/small_vector.h"
#include "dispatch/loop_compiler.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {

RowsDef::operator OpDef() {
  for (const RowProgram& program : rows_->programs)
    PEL_ASSERT(program.value_type && !program.outputs.empty(), "a program has a type and gives something");
  def_.rows = std::move(rows_);
  return std::move(def_);
}
RowsDef RowsDef::program(std::string suffix) && {
  RowProgram next = last();
  next.folds.clear();
  next.keeps = -1;
  next.outputs.clear();
  next.suffix = std::move(suffix);
  rows_->programs.push_back(std::move(next));
  return std::move(*this);
}
RowsDef RowsDef::inputs(int count, int values) && {
  last().input_count = count;
  last().value_input = values;
  return std::move(*this);
}
RowsDef RowsDef::params(std::vector<double> values) && {
  last().param_count = static_cast<int>(values.size());
  last().param_values = std::move(values);
  return std::move(*this);
}
RowsDef RowsDef::computes(DTypeSet dtypes) && {
  last().computes = dtypes;
  return std::move(*this);
}
RowsDef RowsDef::values_in(DType (*type)(DType)) && {
  last().value_type = type;
  return std::move(*this);
}
RowsDef RowsDef::fold(FoldKind kind, RowFormula element, RowFormula finish) && {
  last().folds.push_back({kind, std::move(element), std::move(finish)});
  return std::move(*this);
}
RowsDef RowsDef::keeps() && {
  last().keeps = static_cast<int>(last().folds.size()) - 1;
  return std::move(*this);
}
RowsDef RowsDef::gives_value(RowFormula formula, DType (*dtype)(DType)) && {
  RowOutput output{RowOutput::Kind::Value, std::move(formula), nullptr};
  if (dtype != nullptr) output.dtype = dtype;
  last().outputs.push_back(std::move(output));
  return std::move(*this);
}
RowsDef RowsDef::gives_row(RowFormula formula) && {
  last().outputs.push_back({RowOutput::Kind::Row, std::move(formula), nullptr});
  return std::move(*this);
}
RowsDef RowsDef::gives_index() && {
  last().outputs.push_back({RowOutput::Kind::Index, nullptr, nullptr});
  return std::move(*this);
}
RowsDef RowsDef::refuses_empty() && {
  last().takes_empty = false;
  return std::move(*this);
}
RowsDef RowsDef::takes_empty() && {
  last().takes_empty = true;
  return std::move(*this);
}
RowsDef RowsDef::elements_as_stored() && {
  last().casts_elements = false;
  return std::move(*this);
}
RowsDef RowsDef::max_ulp(double ulp) && {
  last().max_ulp = ulp;
  return std::move(*this);
}
RowsDef RowsDef::domain(double low, double high) && {
  last().low = low;
  last().high = high;
  return std::move(*this);
}

AxisSet axis_set(const Tensor& self, Axes axes) {
  const std::int64_t rank = self.dim();
  if (axes.empty()) return (AxisSet{1} << rank) - 1;
  AxisSet set = 0;
  for (const std::int64_t axis : axes) {
    const std::int64_t at = wrap_axis(axis, rank);
    if (rank == 0) continue;
    PEL_CHECK((set >> at & 1) == 0, IndexError, "axis {} is named twice", axis);
    set |= AxisSet{1} << at;
  }
  return set;
}
AxisSet axis_set(const Tensor& self, std::optional<std::int64_t> axis) {
  return axis ? axis_set(self, Axes({*axis})) : axis_set(self, Axes());
}

void check_not_empty(const Tensor& self, AxisSet reduced, bool is_named) {
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    const Dim size = self.sizes()[static_cast<std::size_t>(i)];
    const bool has_some = (reduced >> i & 1) == 0 || size != 0;
    constexpr const char* kRule = "axis {} of {} has no elements, and there is no result for none";
    PEL_CHECK(has_some || is_named, ValueError, kRule, i, describe(self));
    PEL_CHECK(has_some, IndexError, kRule, i, describe(self));
  }
}

DType check_floating(const Tensor& self) {
  PEL_CHECK(is_floating(self.dtype()), DTypeError,
            "the op takes {}; the tensor is {}; pass a dtype or convert it", to_string(kFloating),
            describe(self));
  return self.dtype();
}

namespace {

// The operands of a launch, and the views among them, without an allocation.
struct RowOperands {
  static constexpr std::size_t kMax = kMaxRowOutputs + kMaxRowInputs;

  RowOperands() {}  // leaves the list uninitialised
  void add(const Tensor& tensor) { list[count++] = tensor; }
  void add_view(Tensor view) { add(views_[view_count_++] = std::move(view)); }

  union {
    TensorRef list[kMax];
  };
  std::size_t count = 0;

 private:
  std::array<Tensor, kMax> views_;
  std::size_t view_count_ = 0;
};

}  // namespace

std::vector<Tensor> run_rows(const Op& op, ArrayView<TensorRef> inputs, const RowsCall& call,
                             ArrayView<Scalar> numbers) {
  const RowProgram& facts = op.rows()->programs[call.program];
  PEL_CHECK(facts.computes.contains(call.compute), DTypeError, "the op computes in {}, not in {}",
            to_string(facts.computes), name(call.compute));
  const Tensor& first = *inputs[0].tensor;
  const Dims sizes = first.sizes();
  DimVector kept, shown;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool is_reduced = call.reduced >> i & 1;
    kept.push_back(is_reduced ? Dim(1) : sizes[i]);
    if (!is_reduced || call.keepdim == KeepDims::Yes) shown.push_back(kept.back());
  }
  PEL_ASSERT(facts.outputs.size() <= kMaxRowOutputs && inputs.size() <= kMaxRowInputs,
             "a row op has few operands");
  std::vector<Tensor> results;
  results.reserve(facts.outputs.size());
  RowOperands refs;
  for (std::size_t o = 0; o < facts.outputs.size(); ++o) {
    const DType dtype = facts.stored_output(o, call.compute);
    if (facts.outputs[o].kind == RowOutput::Kind::Row) {
      results.push_back(call.layout == Layout::Keep ? make_like(first, dtype, first.device())
                                                    : make_dense(sizes, dtype, first.device()));
      refs.add(results.back());
      continue;
    }
    results.push_back(make_dense(shown, dtype, first.device()));
    DimVector strides = row_major_strides(kept);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (call.reduced >> i & 1) strides[i] = 0;
    }
    refs.add_view(make_view(results.back(), kept, strides));
  }
  for (const TensorRef& input : inputs) {
    if (input.tensor == &first) {
      refs.add(first);
    } else {
      refs.add_view(broadcast_view(*input.tensor, sizes));
    }
  }
  SmallVector<Scalar, 4> scalars;
  scalars.push_back(static_cast<std::int64_t>(call.reduced));
  for (const Scalar& number : numbers) scalars.push_back(number);
  launch(op, {refs.list, results.size()}, {refs.list + results.size(), inputs.size()},
         ArrayView<Scalar>(scalars.data(), scalars.size()),
         Computation{call.compute, static_cast<std::uint8_t>(call.program)});
  return results;
}

}  // namespace pel

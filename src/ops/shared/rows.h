// How a row reduction is defined: what is folded, and what the results are.
#pragma once

#include <algorithm>
#include <cmath>

#include "pellucid/ops/reductions.h"

#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"
#include "ir/math.h"

namespace pel {

using scalar::Term;

// Types of values by the dtype that is computed in.
inline DType float_or_i64(DType dtype) { return is_floating(dtype) ? value_type(dtype) : kI64; }
inline DType bool_as_u8(DType dtype) { return dtype == kBool ? kU8 : value_type(dtype); }
inline DType always_bool(DType) { return kBool; }
inline DType always_i64(DType) { return kI64; }

// What references are written over: rows of the inputs, and the numbers given.
using RowData = std::vector<std::vector<long double>>;
using RowParams = std::vector<double>;
inline long double sum_of(const std::vector<long double>& row) {
  long double sum = 0;
  for (const long double x : row) sum += x;
  return sum;
}
inline long double sum_of_sizes(const std::vector<long double>& row) {
  long double sum = 0;
  for (const long double x : row) sum += std::abs(x);
  return sum;
}

// A definition under construction. It becomes an OpDef at the end.
class RowsDef {
 public:
  explicit RowsDef(OpDef def) : def_(std::move(def)), rows_(std::make_shared<Rows>()) {
    rows_->programs.emplace_back();
  }
  operator OpDef();

  // Another program begins; what follows speaks of it. It takes over dtypes from the one before.
  RowsDef program(std::string suffix) &&;
  // `values`: from this input on they are stored in the value type.
  RowsDef inputs(int count, int values = 1 << 10) &&;
  RowsDef params(std::vector<double> values) &&;
  RowsDef computes(DTypeSet dtypes) &&;
  RowsDef values_in(DType (*type)(DType)) &&;
  RowsDef fold(FoldKind kind, RowFormula element, RowFormula finish = nullptr) &&;
  // A value made of those folded before it, once a row.
  RowsDef derives(RowFormula formula) && {
    return std::move(*this).fold(FoldKind::Sum, nullptr, std::move(formula));
  }
  RowsDef keeps() &&;  // the elements of the last fold, for rows to read again
  RowsDef gives_value(RowFormula formula, DType (*dtype)(DType) = nullptr) &&;
  RowsDef gives_row(RowFormula formula) &&;
  RowsDef gives_index() &&;
  RowsDef refuses_empty() &&;
  RowsDef takes_empty() &&;
  RowsDef elements_as_stored() &&;  // formulas see elements in their own type, not in that of values

  // How a gradient flows back, in terms of ops; see vjp.h.
  template <class F>
  RowsDef vjp(std::string of, std::string keeps, F f) && {
    def_.add_vjp(std::move(of), std::move(keeps), std::move(f));
    return std::move(*this);
  }
  RowsDef not_differentiable() && {
    def_.gradient_facts().is_zero = true;
    return std::move(*this);
  }
  RowsDef autocast(CastRule rule) && {
    def_.cast_rule = rule;
    return std::move(*this);
  }
  template <class Run, class Draw>
  RowsDef composition(Run run, Draw draw) && {
    def_ = std::move(def_).same_as(run, draw);
    return std::move(*this);
  }
  RowsDef samples(std::function<SampleCalls(Sampler&)> calls) && {
    def_.sample_calls = std::move(calls);
    return std::move(*this);
  }

  // For tests.
  RowsDef max_ulp(double ulp) &&;
  RowsDef half_ulp(double ulp) && {
    last().half_ulp = ulp;
    return std::move(*this);
  }
  RowsDef exact() && { return std::move(*this).max_ulp(0); }
  RowsDef domain(double low, double high) &&;
  template <class F>
  RowsDef reference(F f) && {
    last().reference = std::move(f);
    return std::move(*this);
  }

 private:
  RowProgram& last() { return rows_->programs.back(); }
  OpDef def_;
  std::shared_ptr<Rows> rows_;
};

template <auto Body>
RowsDef rows_op(std::string_view schema) {
  return RowsDef(define_op<Body>(OpKind::Kernel, std::string(schema)));
}

// Formulas that many share.
inline Term the_element(const RowTerms& t) { return t.in[0]; }
inline Term first_value(const RowTerms& t) { return t.values[0]; }
inline Term second_value(const RowTerms& t) { return t.values[1]; }
inline Term squared_difference(const RowTerms& t) {  // from the first value, a mean
  const Term difference = t.in[0] - t.values[0];
  return difference * difference;
}
inline Term mean_of_fold(const RowTerms& t) { return t.values.back() / t.count; }

// Which axes are reduced, a bit each.
using AxisSet = std::uint64_t;
// Those named; none named means all. Refuses one that is named twice.
AxisSet axis_set(const Tensor& self, Axes axes);
AxisSet axis_set(const Tensor& self, std::optional<std::int64_t> axis);
// For ops that have no result for no elements. As in PyTorch, an axis that was named is an IndexError.
void check_not_empty(const Tensor& self, AxisSet reduced, bool is_named);

struct RowsCall {
  DType compute;
  AxisSet reduced;
  KeepDims keepdim = KeepDims::No;
  std::size_t program = 0;
  Layout layout = Layout::RowMajor;  // of rows that are given: Keep is the first input's order of axes
};
// Makes the outputs and launches. The first input has the sizes; the others broadcast to them.
std::vector<Tensor> run_rows(const Op& op, ArrayView<TensorRef> inputs, const RowsCall& call,
                             ArrayView<Scalar> numbers = {});

// The dtype computed in, where integers count as f32.
inline DType floating_or_f32(DType dtype) { return is_floating(dtype) ? dtype : kF32; }
// Refuses integers and bool.
DType check_floating(const Tensor& self);

}  // namespace pel

// The cases of the walk: every pointwise op × formula × dtype × layout × size, named so that one can be run
// again alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/accuracy.h"
#include "dispatch/record.h"
#include "ops/shared/pointwise.h"
#include "support/device.h"

namespace pel::conformance {

enum class LayoutKind : std::uint8_t {
  Contiguous,
  Transposed,  // of the first input; the others are row-major
  Sliced,      // columns 1..-1 of a wider matrix
  Step2,       // every other column
  Expanded,    // the last input is a row, repeated
  Column,      // the first input is a column, repeated
  Offset,      // begins one element into its storage
  ShortRows,   // many rows of 3
  Empty,
  ZeroDim,
  Mixed,    // inputs of other dtypes that promote to the one computed in
  InPlace,  // written into the first input
  Out,      // written into a strided output
};
inline constexpr std::string_view kLayoutNames[] = {
    "contiguous", "transposed", "sliced",   "step2", "expanded", "column", "offset",
    "short_rows", "empty",      "zero_dim", "mixed", "in_place", "out"};
inline constexpr int kLayoutCount = 13;

// PELLUCID_CASE: the only case to run, or with a / at its end all that begin so.
inline const std::string& only_case() {
  static const std::string name = [] {
    const char* text = std::getenv("PELLUCID_CASE");
    return std::string(text ? text : "");
  }();
  return name;
}
inline bool is_chosen(const std::string& name) {
  return only_case().empty() ||
         (only_case().ends_with('/') ? name.starts_with(only_case()) : name == only_case());
}
inline std::string repro(const std::string& name) {
  return "PELLUCID_CASE=" + name + " ./dev test Conformance";
}
inline constexpr std::string_view kErrors = "/errors/";  // in names of calls that are refused

struct Case {
  const Op* op;
  std::size_t formula;
  DType compute;
  LayoutKind layout;
  std::int64_t size;

  std::string name() const {
    return label(*op, formula) + "/" + std::string(pel::name(compute)) + "/" +
           std::string(kLayoutNames[static_cast<int>(layout)]) + "/" + std::to_string(size);
  }
};

// Primes, powers of two and their neighbours; L2 is smaller than the last.
inline constexpr std::int64_t kSizes[] = {1, 7, 16, 31, 33, 63, 127, 129, 257, 1009};
inline constexpr std::int64_t kLargeSize = 1'200'007;

inline std::vector<const Op*> pointwise_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (op->pointwise() != nullptr && op->record().is_builtin && !is_further_form(op->name()))
      ops.push_back(op);
  }
  return ops;
}

template <class F>
void for_each_formula(F&& f) {
  for (const Op* op : pointwise_ops()) {
    for (std::size_t formula = 0; formula < op->pointwise()->formulas.size(); ++formula) {
      for (int d = 0; d < kDTypeCount; ++d) {
        if (op->pointwise()->computes.contains(static_cast<DType>(d))) f(*op, formula, static_cast<DType>(d));
      }
    }
  }
}

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for_each_formula([&](const Op& op, std::size_t formula, DType compute) {
    for (int layout = 0; layout < kLayoutCount; ++layout) {
      const auto kind = static_cast<LayoutKind>(layout);
      if (kind == LayoutKind::Empty || kind == LayoutKind::ZeroDim) {
        cases.push_back({&op, formula, compute, kind, kind == LayoutKind::Empty ? 0 : 1});
        continue;
      }
      for (const std::int64_t size : kSizes) cases.push_back({&op, formula, compute, kind, size});
    }
    if (compute == kF32 || compute == kI8)
      cases.push_back({&op, formula, compute, LayoutKind::Contiguous, kLargeSize});
  });
  return cases;
}

// What a case calls the op with.
struct Call {
  std::vector<Tensor> inputs;
  std::vector<Scalar> params;
  Tensor out;  // undefined: the op allocates
};

// An input of a dtype that promotes to `compute` together with one input of it.
inline DType other_dtype(const Pointwise& facts, DType compute) {
  if (compute == kF64) return kF32;
  if (compute == kF32) return kI32;
  if (is_floating(compute) || facts.computes_in == Pointwise::ComputesIn::Floating) return kI16;
  if (compute == kI64) return kI32;
  if (compute == kI16) return kI8;
  return facts.refuses.contains(kBool) ? compute : kBool;
}

inline Tensor filled(ArgumentSource& source, const Pointwise& facts, int argument, DType dtype, Dims sizes) {
  Tensor t = make_dense(sizes, dtype, kCpu);
  source.fill(facts, argument, dtype, t.raw_data(), t.numel().value());
  return test::on_test_device(t);
}

inline Call make_call(const Case& c) {
  const Pointwise& facts = *c.op->pointwise();
  ArgumentSource source(std::hash<std::string>()(c.name()));
  const std::int64_t rows = c.layout == LayoutKind::ShortRows ? c.size : 5,
                     columns = c.layout == LayoutKind::ShortRows ? 3 : c.size;
  Call call;
  for (int i = 0; i < facts.input_count; ++i) {
    DType dtype = facts.takes_condition && i == 0 ? kBool : c.compute;
    const bool first = i == 0, last = i == facts.input_count - 1;
    const auto make = [&](Dims sizes) { return filled(source, facts, i, dtype, sizes); };
    switch (c.layout) {
      case LayoutKind::Contiguous:
      case LayoutKind::Empty:
        call.inputs.push_back(make({c.size}));
        break;
      case LayoutKind::ZeroDim:
        call.inputs.push_back(make({}));
        break;
      case LayoutKind::Transposed:
        call.inputs.push_back(first ? make({columns, rows}).t() : make({rows, columns}));
        break;
      case LayoutKind::Sliced:
        call.inputs.push_back(make({rows, columns + 2}).slice(1, 1, columns + 1));
        break;
      case LayoutKind::Step2:
        call.inputs.push_back(make({rows, 2 * columns}).slice(1, 0, 2 * columns, 2));
        break;
      case LayoutKind::Expanded:
        call.inputs.push_back(last ? make({columns}) : make({rows, columns}));
        break;
      case LayoutKind::Column:
        call.inputs.push_back(first ? make({rows, 1}) : make({rows, columns}));
        break;
      case LayoutKind::Offset:
        call.inputs.push_back(make({c.size + 1}).slice(0, 1, c.size + 1));
        break;
      case LayoutKind::ShortRows:
        call.inputs.push_back(make({rows, columns + 1}).slice(1, 0, columns));
        break;
      case LayoutKind::Mixed:
        if (dtype != kBool && (last && facts.input_count > 1 + (facts.takes_condition ? 1 : 0)))
          dtype = other_dtype(facts, c.compute);
        call.inputs.push_back(make({rows, columns}));
        break;
      case LayoutKind::InPlace:
      case LayoutKind::Out:
        call.inputs.push_back(make({rows, columns}));
        break;
    }
  }
  // A condition cannot be written into; the values of the next input are as good.
  if (c.layout == LayoutKind::InPlace) call.out = call.inputs[facts.takes_condition ? 1 : 0];
  if (c.layout == LayoutKind::Out) {
    const DType dtype = facts.result_dtype(c.compute);
    call.out = make_dense({columns, 2 * rows}, dtype, test::test_device()).slice(1, 0, 2 * rows, 2).t();
  }
  for (const double value : test_params(facts)) call.params.emplace_back(value);
  return call;
}

inline Tensor run(const Case& c, const Call& call) {
  std::vector<TensorRef> refs(call.inputs.begin(), call.inputs.end());
  if (!call.out.defined()) return run_pointwise(*c.op, refs, call.params, c.formula);
  return run_pointwise_into(*c.op, call.out, refs, call.params, c.formula);
}

}  // namespace pel::conformance

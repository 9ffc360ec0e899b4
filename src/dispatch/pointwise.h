// The record of a pointwise op: its formulas, and the references that tests compare them with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/dtype.h"

#include "ir/scalar.h"

namespace pel {

__extension__ typedef __int128 WideInt;  // holds every sum and product of two i64

// The type in which values of `dtype` are computed.
inline DType value_type(DType dtype) { return dtype == kF16 || dtype == kBF16 ? kF32 : dtype; }

// One way of computing the op. Most ops have one; gelu has two, by the number of the one that its body chose.
struct Formula {
  std::string suffix;  // of the kernel's name: "" or, say, "tanh"
  // Inputs in the type that is computed in (f32 for f16 and bf16), then the numbers passed with them.
  std::function<scalar::Term(ArrayView<scalar::Term> inputs, ArrayView<scalar::Term> params)> build;
  // The same for results that are rounded to `half`, f16 or bf16, if there is a shorter way: within 0.51 ULP
  // of it.
  std::function<scalar::Term(ArrayView<scalar::Term> inputs, ArrayView<scalar::Term> params, DType half)>
      build_half;
  // What an op that computes in `compute` does with inputs and params of value_type(compute).
  scalar::Term term(DType compute, ArrayView<scalar::Term> inputs, ArrayView<scalar::Term> params) const {
    return build_half && value_type(compute) != compute ? build_half(inputs, params, compute)
                                                        : build(inputs, params);
  }

  // The expected result, computed by other code than `build`. Arguments are inputs, then params. Empty where
  // the op is never computed in that kind of type.
  std::function<double(const double* args)> reference;
  std::function<long double(const long double* args)> reference_f64;
  std::function<WideInt(const WideInt* args)> reference_int;   // taken modulo the width
  std::function<WideInt(const WideInt* args)> reference_bool;  // where bool is not reference_int != 0
  // Where terms cancel: the size of the terms, which the error is compared with instead of the result.
  std::function<double(const double* args)> magnitude;
  // |result - reference| in ULP; 0.5 is rounded correctly. For f16 and bf16, which are
  // computed in f32, it is this many f32 ULP more than 0.5 of their own, or half_ulp if they have a formula
  // of their own.
  double max_ulp = 0.5;
  double max_ulp_f64 = 0.5;
  // The bound of `build_half`, in ULP of f16 or bf16: more where it rounds between its steps.
  double half_ulp = 0.51;
};

// The range of random arguments. Zeros, infinities, NaN, denormals and bounds are tested too, unless the op
// turns that off.
struct Domain {
  double low = -10, high = 10;
};

struct Pointwise {
  enum class ComputesIn : std::uint8_t { Promoted, Floating };  // Floating: integers and bool count as f32
  enum class Gives : std::uint8_t { Same, Bool };

  int input_count = 1;
  int param_count = 0;
  ComputesIn computes_in = ComputesIn::Promoted;
  Gives gives = Gives::Same;
  DTypeSet computes = kAllDTypes;
  bool takes_condition = false;  // input 0 is bool, and does not take part in promotion
  bool swaps_inputs = false;     // inputs 0 and 1 are the schema's tensors 1 and 0
  bool divides = false;          // an integer 0 in the last input is an error
  DTypeSet refuses;              // inputs of these are an error, even where they promote to others
  std::string advice;            // what to use instead
  std::vector<Formula> formulas;

  std::vector<Domain> domains;       // of inputs, then params; the last one serves all that follow
  std::vector<double> param_values;  // of params in tests
  bool tries_extremes = true;

  // The dtype that is computed in, for operands that promote to `promoted`, and that of the result.
  DType compute_dtype(DType promoted) const {
    return computes_in == ComputesIn::Floating && !is_floating(promoted) ? kF32 : promoted;
  }
  DType result_dtype(DType compute) const { return gives == Gives::Bool ? kBool : compute; }
};

// The expression of one formula for operands stored as `compute`, with the conversions at its ends.
scalar::ScalarExpr make_expr(const Pointwise& op, std::size_t formula, DType compute);

}  // namespace pel

// How a gradient flows back through an op, as the op's own record says it:
//
//   .vjp("self", "other", [](const Vjp& v) { return v.grad() * v["other"]; })
//
// names the argument of the gradient, what must be saved from the call for it, and the formula, in terms of
// ops, so that a gradient has a gradient.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/extend/value.h"

namespace pel {

struct Schema;  // extend/schema.h

// The call that a formula belongs to: the gradients of its results, and what was saved.
class PEL_API Vjp {
 public:
  // Of a result. Zeros if nothing flows back to it.
  const Tensor& grad(std::size_t result = 0) const;
  bool has_grad(std::size_t result = 0) const { return grads_[result].defined(); }

  // Arguments and results that the rule saves, by their names in the schema. A result without a name is
  // "result", or "result0", "result1" … if there are several.
  const Tensor& operator[](std::string_view name) const;
  template <class T>
  decltype(auto) get(std::string_view name) const {
    return detail::Boxing<T>::unbox(value(name));
  }
  // Sizes, strides, dtype and device of an argument whose gradient is wanted; of a list, those of tensor
  // `at`. Always saved.
  Dims sizes(std::string_view name, std::size_t at = 0) const;
  Dims strides(std::string_view name, std::size_t at = 0) const;
  DType dtype(std::string_view name, std::size_t at = 0) const;
  Device device(std::string_view name, std::size_t at = 0) const;
  std::size_t count(std::string_view name) const;  // of tensors in a list
  bool wants(std::string_view name, std::size_t at = 0) const;

  // For the library itself.
  struct Source;
  Vjp(const Source& source, ArrayView<Value> kept, std::vector<Tensor>& grads)
      : source_(&source), kept_(kept), grads_(grads) {}

 private:
  const Value& value(std::string_view name) const;
  const Source* source_;
  ArrayView<Value> kept_;
  std::vector<Tensor>& grads_;
};

// One rule: gradients of some arguments. `run` returns one tensor for each, those of a list one after
// another; an undefined tensor means no gradient. A gradient may have the sizes of the result: it is summed
// if the argument was broadcast to them, and cast to the argument's dtype.
struct VjpRule {
  std::vector<int> of;                                 // arguments
  std::vector<int> keeps;                              // arguments, and results as ~number
  std::function<std::vector<Tensor>(const Vjp&)> run;  // empty: they never have a gradient
};

struct Gradient {
  struct Named {  // as written; resolved against the schema when the op is registered
    std::string of, keeps;
    std::function<std::vector<Tensor>(const Vjp&)> run;
  };
  std::vector<Named> named;
  bool is_zero = false;  // results never depend smoothly on arguments: nothing is recorded

  std::vector<VjpRule> resolve(const Schema& schema) const;
};

// Arguments for tests of an op whose record does not tell them: calls in f64, trailing defaults left out.
class PEL_API Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : state_(seed) {}
  Tensor operator()(Dims sizes, double low = -2, double high = 2);
  Tensor indices(std::int64_t below, Dims sizes);  // i64
  Tensor permuted(std::int64_t count);             // 0 … count - 1 in some order, i64
  Tensor condition(Dims sizes);                    // bool
  Tensor apart(Dims sizes);  // no two elements are near each other, for ops that compare them

 private:
  std::uint64_t next();
  std::uint64_t state_;
};
using SampleCalls = std::vector<std::vector<Value>>;

// What an op computes, as calls of other ops: its results and gradients have the same bits. For tests, and
// for comparisons of one kernel with several.
struct Composition {
  std::function<std::vector<Tensor>(const std::vector<Value>& args)> run;
  // Arguments for a test, in f64, the first one of these sizes.
  std::function<std::vector<Value>(Sampler& sampler, Dims sizes)> draw;
};

}  // namespace pel

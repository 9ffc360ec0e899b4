// What pointwise ops share: how one is defined, its three forms, and the rules for sizes and dtypes.
//
//   OpDef define_softsign() {
//     return unary("softsign").floating().formula([](Term x) { return x / (1 + abs(x)); })
//         .reference([](auto x) { return x / (1 + std::abs(x)); }).max_ulp(1.5);
//   }
//   PEL_DEFINE_UNARY(softsign)
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "ir/math.h"
#include "ir/scalar.h"

namespace pel {

using scalar::Term;

// The result of a formula, allocated: sizes are broadcast, the dtype is promoted, the order of axes is the
// operands'.
Tensor run_pointwise(const Op& op, ArrayView<TensorRef> inputs, ArrayView<Scalar> params = {},
                     std::size_t formula = 0);
// The same written into `out`, which has the broadcast sizes and a dtype of the result's category or higher.
const Tensor& run_pointwise_into(const Op& op, const Tensor& out, ArrayView<TensorRef> inputs,
                                 ArrayView<Scalar> params = {}, std::size_t formula = 0);
// A number as an operand of a call with `self`.
inline Tensor new_number(const Tensor& self, const Scalar& value) {
  return make_number(value, self.defined() ? self.device() : kCpu);
}

namespace pointwise_detail {

template <class T>
inline constexpr bool kIsTensor = std::is_same_v<std::decay_t<T>, Tensor>;

// The arguments of a body as inputs and params, in their order.
template <class... P>
struct Split {
  static constexpr std::size_t kTensors = (0 + ... + (kIsTensor<P> ? 1 : 0));
  static constexpr std::size_t kScalars = sizeof...(P) - kTensors;

  template <class F>
  static decltype(auto) apply(F&& f, const std::decay_t<P>&... args) {
    const Tensor* tensors[kTensors];
    std::array<Scalar, kScalars == 0 ? 1 : kScalars> scalars;
    std::size_t t = 0, s = 0;
    const auto take = [&](const auto& arg) {
      if constexpr (kIsTensor<decltype(arg)>) {
        tensors[t++] = &arg;
      } else {
        scalars[s++] = arg;
      }
    };
    (take(args), ...);
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
      const TensorRef refs[] = {TensorRef(*tensors[I])...};
      return f(ArrayView<TensorRef>(refs, kTensors), ArrayView<Scalar>(scalars.data(), kScalars));
    }(std::make_index_sequence<kTensors>());
  }
};

}  // namespace pointwise_detail

// Bodies of the three forms. P are `const Tensor&` and `const Scalar&`.
template <class... P>
Tensor pointwise_body(const Op& op, P... args) {
  return pointwise_detail::Split<P...>::apply(
      [&](auto tensors, auto scalars) { return run_pointwise(op, tensors, scalars); }, args...);
}
template <class Self, class... P>
const Tensor& pointwise_in_place(const Op& op, Self self, P... args) {
  return pointwise_detail::Split<Self, P...>::apply(
      [&](auto tensors, auto scalars) -> const Tensor& {
        return run_pointwise_into(op, *tensors[0].tensor, tensors, scalars);
      },
      self, args...);
}
template <class... P>
const Tensor& pointwise_out(const Op& op, const Tensor& out, P... args) {
  return pointwise_detail::Split<P...>::apply(
      [&](auto tensors, auto scalars) -> const Tensor& {
        return run_pointwise_into(op, out, tensors, scalars);
      },
      args...);
}

// Which forms an op has in addition to NAME(...): NAME_(...), which changes its first argument, and
// NAME_out(out,
// ...).
enum class Forms : std::uint8_t { Plain, Out, All };

// A definition under construction. It becomes an OpDef at the end.
class PointwiseDef {
 public:
  PointwiseDef(OpDef plain, OpDef in_place, OpDef out, int inputs, int params);
  operator OpDef();

  // What it computes in. Without any of these: all dtypes, promoted.
  PointwiseDef floating() &&;                 // floating dtypes; integers and bool count as f32
  PointwiseDef computes(DTypeSet dtypes) &&;  // others are refused
  PointwiseDef gives_bool() &&;
  PointwiseDef takes_condition() &&;  // the formula's first input is bool
  PointwiseDef swaps_inputs() &&;     // the formula takes the schema's first two tensors the other way round
  PointwiseDef divides() &&;          // an integer 0 in the last tensor is an error
  PointwiseDef refuses(DTypeSet dtypes, std::string advice) &&;  // as any input
  PointwiseDef forms(Forms forms) &&;

  // How a gradient flows back, in terms of ops; see vjp.h.
  template <class F>
  PointwiseDef vjp(std::string of, std::string keeps, F f) && {
    plain_.add_vjp(std::move(of), std::move(keeps), std::move(f));
    return std::move(*this);
  }
  PointwiseDef no_vjp(std::string of) &&;
  PointwiseDef not_differentiable() &&;
  PointwiseDef autocast(CastRule rule) &&;
  template <class Run, class Draw>
  PointwiseDef composition(Run run, Draw draw) && {
    plain_ = std::move(plain_).same_as(run, draw);
    return std::move(*this);
  }
  PointwiseDef samples(std::function<SampleCalls(Sampler&)> calls) &&;  // in addition to those of the domains

  // The formula, over Terms: inputs, then params. Called again, it begins another one.
  template <class F>
  PointwiseDef formula(F f, std::string suffix = "") && {
    Formula made;
    made.suffix = std::move(suffix);
    made.build = [f](ArrayView<Term> in, ArrayView<Term> params) {
      return spread<Term>(f, Terms{in, params});
    };
    facts_->formulas.push_back(std::move(made));
    return std::move(*this);
  }
  // These speak of the formula before them.
  //
  // What f16 and bf16 compute instead, from the same Terms and that dtype, within 0.51 ULP of it.
  template <class F>
  PointwiseDef half(F f) && {
    last().build_half = [f](ArrayView<Term> in, ArrayView<Term> params, DType half) {
      const auto of_terms = [&](auto... terms) -> Term
        requires std::is_invocable_v<const F&, decltype(terms)..., DType>
      { return f(terms..., half); };
      return spread<Term>(of_terms, Terms{in, params});
    };
    return std::move(*this);
  }
  PointwiseDef half_ulp(double bound) && {
    last().half_ulp = bound;
    return std::move(*this);
  }
  // A generic lambda over double and long double: another way to the same result.
  template <class F>
  PointwiseDef reference(F f) && {
    last().reference = over<double>(f);
    last().reference_f64 = over<long double>(f);
    return std::move(*this);
  }
  // A lambda over WideInt, for integers and bool.
  template <class F>
  PointwiseDef reference_int(F f) && {
    last().reference_int = over<WideInt>(f);
    return std::move(*this);
  }
  // The same for bool, if it is not the result for integers, != 0.
  template <class F>
  PointwiseDef reference_bool(F f) && {
    last().reference_bool = over<WideInt>(f);
    return std::move(*this);
  }
  // A lambda over double: the size of the terms that may cancel.
  template <class F>
  PointwiseDef magnitude(F f) && {
    last().magnitude = over<double>(f);
    return std::move(*this);
  }
  PointwiseDef max_ulp(double f32, double f64) &&;
  PointwiseDef max_ulp(double both) && { return std::move(*this).max_ulp(both, both); }

  // Where tests take arguments from: one domain for all, or one after the other.
  PointwiseDef domain(double low, double high) &&;
  PointwiseDef params(std::vector<double> values) &&;
  PointwiseDef no_extremes() &&;

 private:
  Formula& last() { return facts_->formulas.back(); }

  // Inputs, then params, by number.
  struct Terms {
    ArrayView<Term> in, params;
    Term operator()(std::size_t i) const { return i < in.size() ? in[i] : params[i - in.size()]; }
  };
  // f(at(0), at(1), …), as many as f takes.
  template <class T, class F, class At, class... Given>
  static auto spread(const F& f, const At& at, const Given&... given) {
    if constexpr (std::is_invocable_v<F, Given...>) {
      return f(given...);
    } else {
      static_assert(sizeof...(Given) < 5, "a formula takes at most five numbers, all of one type");
      return spread<T>(f, at, given..., at(sizeof...(Given)));
    }
  }
  // f over an array of its arguments.
  template <class T, class F>
  static auto over(F f) {
    return [f](const T* a) { return static_cast<T>(spread<T>(f, [a](std::size_t i) { return a[i]; })); };
  }

  OpDef plain_, in_place_, out_;
  Forms forms_ = Forms::All;
  std::shared_ptr<Pointwise> facts_;
};

// "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", with the types of the body's
// parameters. The schemas of the other forms follow from it.
template <class Self, class... P>
PointwiseDef pointwise(std::string_view schema);
// The same with bodies of its own, for an op that chooses between formulas or refuses arguments.
template <auto Plain, auto InPlace, auto Out>
PointwiseDef pointwise(std::string_view schema, int inputs, int params);
PointwiseDef unary(std::string_view name);
PointwiseDef binary(std::string_view name);

// What is computed in where a reference runs over T: for ops that round between their steps.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, float, double>;

namespace pointwise_detail {
std::string in_place_schema(std::string_view schema);
std::string out_schema(std::string_view schema);
}  // namespace pointwise_detail

template <class Self, class... P>
PointwiseDef pointwise(std::string_view schema) {
  using Counts = pointwise_detail::Split<Self, P...>;
  return PointwiseDef(
      define_op<pointwise_body<Self, P...>>(OpKind::Kernel, std::string(schema)),
      define_op<pointwise_in_place<Self, P...>>(OpKind::Kernel, pointwise_detail::in_place_schema(schema)),
      define_op<pointwise_out<Self, P...>>(OpKind::Kernel, pointwise_detail::out_schema(schema)),
      static_cast<int>(Counts::kTensors), static_cast<int>(Counts::kScalars));
}
template <auto Plain, auto InPlace, auto Out>
PointwiseDef pointwise(std::string_view schema, int inputs, int params) {
  return PointwiseDef(define_op<Plain>(OpKind::Kernel, std::string(schema)),
                      define_op<InPlace>(OpKind::Kernel, pointwise_detail::in_place_schema(schema)),
                      define_op<Out>(OpKind::Kernel, pointwise_detail::out_schema(schema)), inputs, params);
}

}  // namespace pel

// The public functions of an op with one or two tensors; they match PEL_UNARY and PEL_BINARY of
// pellucid/ops/pointwise_forms.h.
#define PEL_DEFINE_UNARY_PLAIN(name)                               \
  Tensor name(const Tensor& self, Site site) {                     \
    return call<#name, pointwise_body<const Tensor&>>(site, self); \
  }
#define PEL_DEFINE_UNARY_OUT(name)                                             \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, Site site) { \
    return call<#name ".out", pointwise_out<const Tensor&>>(site, out, self);  \
  }
#define PEL_DEFINE_UNARY(name)                                             \
  PEL_DEFINE_UNARY_PLAIN(name)                                             \
  PEL_DEFINE_UNARY_OUT(name)                                               \
  const Tensor& name##_(const Tensor& self, Site site) {                   \
    return call<#name "_", pointwise_in_place<const Tensor&>>(site, self); \
  }

#define PEL_DEFINE_BINARY_PLAIN(name)                                                    \
  Tensor name(const Tensor& self, const Tensor& other, Site site) {                      \
    return call<#name, pointwise_body<const Tensor&, const Tensor&>>(site, self, other); \
  }                                                                                      \
  Tensor name(const Tensor& self, const Scalar& other, Site site) {                      \
    return pel::name(self, new_number(self, other), site);                               \
  }
#define PEL_DEFINE_BINARY_OUT(name)                                                                 \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other, Site site) { \
    return call<#name ".out", pointwise_out<const Tensor&, const Tensor&>>(site, out, self, other); \
  }                                                                                                 \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Scalar& other, Site site) { \
    return pel::name##_out(out, self, new_number(self, other), site);                               \
  }
#define PEL_DEFINE_BINARY(name)                                                                  \
  PEL_DEFINE_BINARY_PLAIN(name)                                                                  \
  PEL_DEFINE_BINARY_OUT(name)                                                                    \
  const Tensor& name##_(const Tensor& self, const Tensor& other, Site site) {                    \
    return call<#name "_", pointwise_in_place<const Tensor&, const Tensor&>>(site, self, other); \
  }                                                                                              \
  const Tensor& name##_(const Tensor& self, const Scalar& other, Site site) {                    \
    return pel::name##_(self, new_number(self, other), site);                                    \
  }

// The public functions of an op with two tensors and bodies of its own.
#define PEL_DEFINE_BINARY_BY(name, plain, in_place, out_body)                                       \
  Tensor name(const Tensor& self, const Tensor& other, Site site) {                                 \
    return call<#name, plain>(site, self, other);                                                   \
  }                                                                                                 \
  Tensor name(const Tensor& self, const Scalar& other, Site site) {                                 \
    return pel::name(self, new_number(self, other), site);                                          \
  }                                                                                                 \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other, Site site) { \
    return call<#name ".out", out_body>(site, out, self, other);                                    \
  }                                                                                                 \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Scalar& other, Site site) { \
    return pel::name##_out(out, self, new_number(self, other), site);                               \
  }                                                                                                 \
  const Tensor& name##_(const Tensor& self, const Tensor& other, Site site) {                       \
    return call<#name "_", in_place>(site, self, other);                                            \
  }                                                                                                 \
  const Tensor& name##_(const Tensor& self, const Scalar& other, Site site) {                       \
    return pel::name##_(self, new_number(self, other), site);                                       \
  }

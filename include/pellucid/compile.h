// Compile: a function over tensors is run once with symbols in the place of sizes, and from then on as a plan
// of kernels, some of them fused, with the bits that the function itself gives.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/compile_explanation.h"
#include "pellucid/extend/outside_capture.h"  // IWYU pragma: export
#include "pellucid/tensor.h"

namespace pel {

struct CompileOptions {
  // Captures again at each call, and throws a CaptureError that names the first op that is called otherwise
  // than at the first time: where the host code of a function is not the same for all calls.
  bool verifies_host_code = false;
  // Bytes that a call should stay below, at the sizes of the first one: values that are cheap to make again
  // are not kept for late readers. 0: only where that costs no kernel more.
  std::int64_t memory_budget_bytes = 0;
};

namespace compiler {
class CompiledFunction;
}

namespace detail {

// A compiled function over lists of tensors.
class PEL_API CompiledTensors {
 public:
  CompiledTensors(std::function<std::vector<Tensor>(ArrayView<Tensor>)> f, const CompileOptions& options);
  std::vector<Tensor> operator()(ArrayView<Tensor> inputs) const;
  std::size_t compiles() const;
  std::size_t plans() const;
  std::vector<std::string> kernels(ArrayView<Tensor> inputs) const;
  std::int64_t peak_bytes(ArrayView<Tensor> inputs) const;
  std::string graph() const;
  CompileExplanation explain() const;
  CompileExplanation explain(ArrayView<Tensor> inputs) const;

 private:
  std::shared_ptr<compiler::CompiledFunction> function_;
};

template <class R>
struct TensorResult;  // a function gives a Tensor, or a vector, array, pair or tuple of them
template <>
struct TensorResult<Tensor> {
  static std::vector<Tensor> pack(Tensor one) {
    std::vector<Tensor> list;
    list.push_back(std::move(one));
    return list;
  }
  static Tensor unpack(std::vector<Tensor> list) { return std::move(list[0]); }
};
template <>
struct TensorResult<std::vector<Tensor>> {
  static std::vector<Tensor> pack(std::vector<Tensor> list) { return list; }
  static std::vector<Tensor> unpack(std::vector<Tensor> list) { return list; }
};
template <class Group>
struct TensorGroup {
  static std::vector<Tensor> pack(const Group& group) {
    return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, group);
  }
  static Group unpack(std::vector<Tensor> list) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Group{std::move(list[I])...};
    }(std::make_index_sequence<std::tuple_size_v<Group>>());
  }
};
template <class... T>
struct TensorResult<std::tuple<T...>> : TensorGroup<std::tuple<T...>> {};
template <class A, class B>
struct TensorResult<std::pair<A, B>> : TensorGroup<std::pair<A, B>> {};
template <std::size_t N>
struct TensorResult<std::array<Tensor, N>> : TensorGroup<std::array<Tensor, N>> {};

template <std::size_t>
using TensorArgument = const Tensor&;

template <class F, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<const F&, TensorArgument<I>...>;
}
template <class F, std::size_t... I>
std::vector<Tensor> call_exactly(const F& f, ArrayView<Tensor> inputs, std::index_sequence<I...>) {
  using R = std::remove_cvref_t<std::invoke_result_t<const F&, TensorArgument<I>...>>;
  return TensorResult<R>::pack(f(inputs[I]...));
}
// f(inputs[0], inputs[1], …), for any number that it takes.
template <std::size_t N, class F>
std::vector<Tensor> call_with(const F& f, ArrayView<Tensor> inputs) {
  using Places = std::make_index_sequence<N>;
  if constexpr (takes<F>(Places()))
    if (inputs.size() == N) return call_exactly(f, inputs, Places());
  if constexpr (N < 8) return call_with<N + 1>(f, inputs);
  return {};
}

}  // namespace detail

// What compile gives: called as the function is. Copies share what they have compiled.
template <class F>
class Compiled {
 public:
  Compiled(F f, const CompileOptions& options)
      : function_([f = std::move(f)](ArrayView<Tensor> inputs) { return detail::call_with<1>(f, inputs); },
                  options) {}

  template <class... T>
    requires(std::is_invocable_v<const F&, const T&...> && (std::is_same_v<T, Tensor> && ...))
  auto operator()(const T&... tensors) const {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&...>>;
    const Tensor inputs[] = {tensors...};
    return detail::TensorResult<R>::unpack(function_({inputs, sizeof...(T)}));
  }

  // How often it was captured: once for all sizes, again for another rank, dtype or order of strides.
  std::size_t compiles() const { return function_.compiles(); }
  // For how many tuples of sizes kernels and memory are laid out.
  std::size_t plans() const { return function_.plans(); }
  // The kernels that run for tensors like these, in their order.
  template <class... T>
  std::vector<std::string> kernels(const T&... tensors) const {
    const Tensor inputs[] = {tensors...};
    return function_.kernels({inputs, sizeof...(T)});
  }
  // The memory that a call with tensors like these takes, its results among it, before it is made: what it
  // adds to MemoryStats::data_bytes at its peak.
  template <class... T>
  std::int64_t peak_bytes(const T&... tensors) const {
    const Tensor inputs[] = {tensors...};
    return function_.peak_bytes({inputs, sizeof...(T)});
  }
  // Its graphs, after all passes.
  std::string graph() const { return function_.graph(); }
  // What it made of the function, and why: .text() for people, .json() for programs. Bytes are those of each
  // graph's first call; with tensors, those of a call with them, and of the graph that serves it alone.
  CompileExplanation explain() const { return function_.explain(); }
  template <class... T>
    requires(sizeof...(T) > 0)
  CompileExplanation explain(const T&... tensors) const {
    const Tensor inputs[] = {tensors...};
    return function_.explain({inputs, sizeof...(T)});
  }

 private:
  detail::CompiledTensors function_;
};

// auto fast = compile([](const Tensor& x, const Tensor& y) { return relu(add(x, y)); });
//
// A function over one to eight tensors, which gives a tensor or several. Sizes may change from call to call.
// What it computes on the host is frozen at the first call. Tensors that it holds, such as weights, are read
// anew by each call. A whole training step is such a function: backward and the optimiser are called inside,
// and what it gives has no history.
template <class F>
  requires std::is_copy_constructible_v<F>
Compiled<F> compile(F f, const CompileOptions& options = {}) {
  return {std::move(f), options};
}

namespace detail {
template <class M>
struct Referred {
  const M* module;
  Site site;  // of compile: a module's ops of its own are shown there
  template <class... T>
    requires std::is_invocable_v<const M&, const T&...>
  auto operator()(const T&... tensors) const {
    if constexpr (std::is_invocable_v<const M&, const T&..., Site>) {
      return (*module)(tensors..., site);
    } else {
      return (*module)(tensors...);
    }
  }
};
}  // namespace detail

// A module, which must live as long as what is given back.
template <class M>
  requires(!std::is_copy_constructible_v<M>)
Compiled<detail::Referred<M>> compile(const M& module, const CompileOptions& options = {},
                                      Site site = Site::current()) {
  return {detail::Referred<M>{&module, site}, options};
}

}  // namespace pel

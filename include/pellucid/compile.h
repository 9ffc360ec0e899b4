// Compile: a function of tensors runs once with symbolic sizes, and from then on as a plan of kernels, some
// of them fused. The results have the bits that the function itself returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/compile_explanation.h"
#include "pellucid/extend/outside_capture.h"  // IWYU pragma: export
#include "pellucid/signing.h"
#include "pellucid/tensor.h"

namespace pel {

struct CompileOptions {
  // Captures again at each call, and throws a CaptureError that names the first op that differs from the
  // first capture. Finds functions whose host code is not the same for all calls.
  bool verifies_host_code = false;
  // Bytes that a call should stay below, at the sizes of the first call: cheap values are recomputed for late
  // consumers instead of held in memory. 0: only if that adds no kernel.
  std::int64_t memory_budget_bytes = 0;
};

// Instruction sets that kernels are compiled for.
enum class InstructionSet : std::uint8_t { Avx2, Avx512 };

struct SaveOptions {
  // The machine that loads the file needs one of them.
  std::vector<InstructionSet> instruction_sets{InstructionSet::Avx2, InstructionSet::Avx512};
  // Safetensors files, or their indexes. Weights that are the same bytes as a tensor of one of them are read
  // from there when the file is loaded; others are in the file.
  std::vector<std::string> weights{};
  // Signs the file, with the weights that it refers to.
  std::optional<SigningKey> signing_key{};
};

namespace compiler {
class CompiledFunction;
}

class LoadedFunction;

namespace detail {

// A compiled function of a list of tensors.
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
  CompileExplanation explain_measured(ArrayView<Tensor> inputs) const;
  void save(const std::string& path, const SaveOptions& options, Site site) const;

 private:
  friend class pel::LoadedFunction;
  explicit CompiledTensors(std::shared_ptr<compiler::CompiledFunction> function)
      : function_(std::move(function)) {}
  std::shared_ptr<compiler::CompiledFunction> function_;
};

template <class R>
struct TensorResult;  // a function returns a Tensor, or a vector, array, pair or tuple of them
template <>
struct TensorResult<Tensor> {
  static constexpr std::size_t kCount = 1;
  static std::vector<Tensor> pack(Tensor one) {
    std::vector<Tensor> list;
    list.push_back(std::move(one));
    return list;
  }
  static Tensor unpack(std::vector<Tensor> list) { return std::move(list[0]); }
};
template <>
struct TensorResult<std::vector<Tensor>> {
  static constexpr std::size_t kCount = ~std::size_t{0};  // any
  static std::vector<Tensor> pack(std::vector<Tensor> list) { return list; }
  static std::vector<Tensor> unpack(std::vector<Tensor> list) { return list; }
};
template <class Group>
struct TensorGroup {
  static constexpr std::size_t kCount = std::tuple_size_v<Group>;
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

template <class T>
concept TensorList = std::is_same_v<T, std::vector<Tensor>> || std::is_same_v<T, ArrayView<Tensor>>;

// A function of tensors, called with a run of them. How a run of N is passed on is known where the function
// is called with N tensors, so the first such call says it.
template <class F>
class TensorCaller {
 public:
  explicit TensorCaller(F f) : f_(std::move(f)) {}

  template <class... T>
  void learn() const {
    constexpr std::size_t kCount = sizeof...(T);
    if constexpr (kCount < kFew) {
      // Threads that call it at once should not write to one line of cache.
      if (few_[kCount].load(std::memory_order_relaxed) == nullptr)
        few_[kCount].store(&call_with_pack<T...>, std::memory_order_relaxed);
    } else {
      const std::lock_guard lock(mutex_);
      more_[kCount] = &call_with_pack<T...>;
    }
  }
  template <TensorList List>
  void learn_list() const {
    if (list_.load(std::memory_order_relaxed) == nullptr)
      list_.store(&call_with_list<List>, std::memory_order_relaxed);
  }
  std::vector<Tensor> operator()(ArrayView<Tensor> inputs) const {
    return call_for(inputs.size())(f_, inputs);
  }

 private:
  using Call = std::vector<Tensor> (*)(const F& f, ArrayView<Tensor> inputs);
  static constexpr std::size_t kFew = 16;

  template <class... T>
  static std::vector<Tensor> call_with_pack(const F& f, ArrayView<Tensor> inputs) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&...>>;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return TensorResult<R>::pack(f(inputs[I]...));
    }(std::index_sequence_for<T...>());
  }
  template <class List>
  static std::vector<Tensor> call_with_list(const F& f, ArrayView<Tensor> inputs) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const List&>>;
    if constexpr (std::is_same_v<List, ArrayView<Tensor>>) {
      return TensorResult<R>::pack(f(inputs));
    } else {
      return TensorResult<R>::pack(f(inputs.vec()));
    }
  }
  Call call_for(std::size_t count) const {
    if (count < kFew) {
      if (const Call call = few_[count].load(std::memory_order_relaxed)) return call;
    } else {
      const std::lock_guard lock(mutex_);
      if (const auto found = more_.find(count); found != more_.end()) return found->second;
    }
    return list_.load(std::memory_order_relaxed);
  }

  F f_;
  mutable std::array<std::atomic<Call>, kFew> few_{};  // by number of tensors
  mutable std::map<std::size_t, Call> more_;
  mutable std::mutex mutex_;  // of more_
  mutable std::atomic<Call> list_ = nullptr;
};

}  // namespace detail

// A compiled function, called like the function itself. Copies share their graphs and plans.
template <class F>
class Compiled {
 public:
  Compiled(F f, const CompileOptions& options)
      : caller_(std::make_shared<const detail::TensorCaller<F>>(std::move(f))),
        function_([caller = caller_](ArrayView<Tensor> inputs) { return (*caller)(inputs); }, options) {}

  template <class... T>
    requires((std::is_same_v<T, Tensor> && ...) && std::is_invocable_v<const F&, const T&...>)
  auto operator()(const T&... tensors) const {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&...>>;
    return detail::TensorResult<R>::unpack(with_pack(function_, tensors...));
  }
  template <detail::TensorList List>
    requires std::is_invocable_v<const F&, const List&>
  auto operator()(const List& tensors) const {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const List&>>;
    return detail::TensorResult<R>::unpack(with_list(function_, tensors));
  }

  // How often it was captured: once for all sizes, again for another rank, dtype or order of strides.
  std::size_t compiles() const { return function_.compiles(); }
  // The number of tuples of sizes that have a plan.
  std::size_t plans() const { return function_.plans(); }
  // The kernels that run for tensors like these, in launch order.
  template <class... T>
  std::vector<std::string> kernels(const T&... tensors) const {
    return with([this](ArrayView<Tensor> inputs) { return function_.kernels(inputs); }, tensors...);
  }
  // The memory that a call with tensors like these would take, results included: what the call adds to
  // MemoryStats::data_bytes at its peak.
  template <class... T>
  std::int64_t peak_bytes(const T&... tensors) const {
    return with([this](ArrayView<Tensor> inputs) { return function_.peak_bytes(inputs); }, tensors...);
  }
  // Its graphs, after all passes.
  std::string graph() const { return function_.graph(); }
  // What was compiled, and why: .text() and .html() for people, .json() for programs. Without arguments it
  // covers all graphs, with the bytes of the first call of each; with tensors, the graph and the bytes of a
  // call with them.
  CompileExplanation explain() const { return function_.explain(); }
  template <class... T>
    requires(sizeof...(T) > 0)
  CompileExplanation explain(const T&... tensors) const {
    return with([this](ArrayView<Tensor> inputs) { return function_.explain(inputs); }, tensors...);
  }
  // The same with the time of each kernel: calls the function a few times under a Profile of its own, and so
  // writes a few times to what the function writes to. add_times() adds times of other calls.
  template <class... T>
  CompileExplanation explain_measured(const T&... tensors) const {
    return with([this](ArrayView<Tensor> inputs) { return function_.explain_measured(inputs); }, tensors...);
  }
  // Writes its graphs, kernels and weights to a file for load_compiled(). Weights are as they are now.
  void save(const std::string& path, const SaveOptions& options = {}, Site site = Site::current()) const {
    function_.save(path, options, site);
  }

 private:
  template <class G, class... T>
  auto with_pack(const G& g, const T&... tensors) const {
    caller_->template learn<T...>();
    const Tensor inputs[] = {tensors...};
    return g(ArrayView<Tensor>(inputs, sizeof...(T)));
  }
  template <class G, class List>
  auto with_list(const G& g, const List& tensors) const {
    caller_->template learn_list<List>();
    return g(ArrayView<Tensor>(tensors));
  }
  template <class G, class... T>
  auto with(const G& g, const T&... tensors) const {
    if constexpr ((detail::TensorList<T> && ...)) {
      return with_list(g, tensors...);
    } else {
      return with_pack(g, tensors...);
    }
  }

  std::shared_ptr<const detail::TensorCaller<F>> caller_;
  detail::CompiledTensors function_;
};

// auto fast = compile([](const Tensor& x, const Tensor& y) { return relu(add(x, y)); });
//
// The function takes any number of tensors, or one ArrayView or vector of them, and returns one tensor or
// several. Sizes may change from call to call. Host code runs at the first call only. Tensors that the
// function captures by reference, such as weights, are read again by each call. A whole training step is such
// a function: it calls backward and the optimiser, and its results have no history.
template <class F>
  requires std::is_copy_constructible_v<F>
Compiled<F> compile(F f, const CompileOptions& options = {}) {
  return {std::move(f), options};
}

namespace detail {
template <class M>
struct Referred {
  const M* module;
  Site site;  // of compile: the line that ops of the module cite
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

// A module, which must outlive the compiled function.
template <class M>
  requires(!std::is_copy_constructible_v<M>)
Compiled<detail::Referred<M>> compile(const M& module, const CompileOptions& options = {},
                                      Site site = Site::current()) {
  return {detail::Referred<M>{&module, site}, options};
}

}  // namespace pel

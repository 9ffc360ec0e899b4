// Ops: how they are defined, called and get kernels. The library's own ops and a user's are defined the same
// way: a schema, a body, facts, and kernels for a device. `examples/user_op.cc` is a whole op in one file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pellucid/device.h"
#include "pellucid/error.h"
#include "pellucid/extend/kernel.h"
#include "pellucid/extend/keys.h"
#include "pellucid/extend/schema.h"
#include "pellucid/extend/value.h"
#include "pellucid/extend/vjp.h"

namespace pel {

// What a body may do:
//   Metadata   makes views; launches nothing and calls no op.
//   Kernel     allocates results and launches kernels; calls no op.
//   Composite  calls other ops, which pass the keys on their own.
//   Sync       reads data back to the host.
enum class OpKind : std::uint8_t { Metadata, Kernel, Composite, Sync };
PEL_API std::string_view name(OpKind kind);

// What Autocast does with floating arguments: nothing, f32 to the lower dtype, or f16 and bf16 to f32.
enum class CastRule : std::uint8_t { None, Lower, Wide };

struct OpRecord;   // schema and facts; src/dispatch/record.h
struct Pointwise;  // formulas and what they are tested against; src/dispatch/pointwise.h
struct Rows;       // folds and formulas over rows; src/dispatch/rows.h

// What defines an op. `ns::name(Tensor self, Dim[] size, *, DType? dtype=None) -> Tensor`, with aliasing
// marks: Tensor(a) is a view of another argument marked (a), Tensor(a!) is written to. A user's op needs a
// namespace.
struct OpDef {
  std::string schema;
  OpKind kind = OpKind::Kernel;
  Handler body = nullptr;
  std::vector<ArgType> arg_types;  // of the body's parameters, checked against the schema at registration
  DTypeSet dtype_set = kAllDTypes;
  bool repeats_writes = false, is_one_call = false, has_communication = false;
  CastRule cast_rule = CastRule::None;
  std::array<std::vector<Kernel>, kDeviceTypeCount> kernel_lists;
  std::shared_ptr<const Pointwise> pointwise;  // null for other ops
  std::shared_ptr<const Rows> rows;
  std::shared_ptr<Gradient> gradient;  // null: not known; backward reports it
  std::function<SampleCalls(Sampler&)> sample_calls;
  std::shared_ptr<const Composition> composition;  // null: it is not defined as one
  std::string wait_reason;                         // empty: no call waits for the device
  std::vector<OpDef> forms;  // NAME_ and NAME.out, which share the op's file and kernels

  // Dtypes the tensor arguments may have when a kernel is launched.
  OpDef dtypes(DTypeSet set) && {
    dtype_set = set;
    return std::move(*this);
  }
  // An output may overlap itself: an element at several indices gets the same value each time.
  OpDef repeated_writes() && {
    repeats_writes = true;
    return std::move(*this);
  }
  // The gradients of the arguments `of`, from what is saved of the call: names, with spaces between them. The
  // formula returns a Tensor, or a vector of them if `of` has several. See vjp.h.
  template <class F>
  OpDef vjp(std::string of, std::string saves, F formula) && {
    add_vjp(std::move(of), std::move(saves), std::move(formula));
    return std::move(*this);
  }
  // Nothing flows back to these arguments.
  OpDef no_vjp(std::string of) && {
    add_vjp(std::move(of), "", nullptr);
    return std::move(*this);
  }
  // Nothing flows back at all: results are whole numbers, or steps.
  OpDef not_differentiable() && {
    gradient_facts().is_zero = true;
    return std::move(*this);
  }
  OpDef autocast(CastRule rule) && {
    cast_rule = rule;
    return std::move(*this);
  }
  // A composite op whose parts depend on the values of sizes: a graph has the op itself as a node. If sizes
  // are symbolic, its body returns results without computing them.
  OpDef one_call() && {
    is_one_call = true;
    return std::move(*this);
  }
  OpDef communicates() && {  // other processes make the call, too; effects of it are in docs/user-ops.md
    has_communication = true;
    return std::move(*this);
  }
  // A call waits for an asynchronous device, or may: "to read how many elements are true".
  OpDef waits(std::string reason) && {
    wait_reason = std::move(reason);
    return std::move(*this);
  }
  OpDef samples(std::function<SampleCalls(Sampler&)> calls) && {  // for tests of gradients
    sample_calls = std::move(calls);
    return std::move(*this);
  }
  template <class Run, class Draw>
  OpDef same_as(Run run, Draw draw) && {
    composition = std::make_shared<const Composition>(Composition{std::move(run), std::move(draw)});
    return std::move(*this);
  }
  Gradient& gradient_facts() {
    if (!gradient) gradient = std::make_shared<Gradient>();
    return *gradient;
  }
  template <class F>
  void add_vjp(std::string of, std::string saves, F formula) {
    Gradient::Named rule{std::move(of), std::move(saves), nullptr};
    if constexpr (!std::is_null_pointer_v<F>) {
      if constexpr (std::is_convertible_v<std::invoke_result_t<F, const Vjp&>, Tensor>) {
        rule.run = [formula](const Vjp& v) { return std::vector<Tensor>{formula(v)}; };
      } else {
        rule.run = formula;
      }
    }
    gradient_facts().named.push_back(std::move(rule));
  }
  OpDef kernels(DeviceType device, std::vector<Kernel> list) && {
    kernel_lists[static_cast<int>(device)] = std::move(list);
    return std::move(*this);
  }
};

// The handle of a registered op. It lives as long as the process and never moves.
class PEL_API Op {
 public:
  constexpr Op() = default;
  bool is_registered() const { return record_ != nullptr; }
  std::string_view name() const { return name_; }
  std::string schema() const;       // as text
  const Schema& signature() const;  // the same, parsed
  OpKind kind() const { return kind_; }
  DTypeSet dtypes() const { return dtypes_; }
  bool repeats_writes() const { return repeats_writes_; }
  const OpRecord& record() const { return *record_; }
  const Pointwise* pointwise() const { return pointwise_; }  // null for other ops
  const Rows* rows() const { return rows_; }
  const Gradient* gradient() const { return gradient_; }  // null if not known, and for composite ops
  const Composition* composition() const;                 // null if it is not defined as one
  CastRule cast_rule() const { return cast_rule_; }
  bool is_one_call() const { return is_one_call_; }    // in a graph, though it is composite
  bool communicates() const { return communicates_; }  // with other processes
  bool is_recorded() const { return is_recorded_; }    // a call whose arguments require a gradient
  KernelList kernels(DeviceType device) const { return kernels_[static_cast<int>(device)]; }

 private:
  friend class Registry;
  friend struct BoxedCall;
  const char* name_ = "?";
  const OpRecord* record_ = nullptr;
  const Pointwise* pointwise_ = nullptr;
  const Rows* rows_ = nullptr;
  const Gradient* gradient_ = nullptr;
  Handler body_ = nullptr;
  OpKind kind_ = OpKind::Kernel;
  CastRule cast_rule_ = CastRule::None;
  bool is_recorded_ = false, is_one_call_ = false, communicates_ = false, repeats_writes_ = false;
  DTypeSet dtypes_{};
  std::array<KernelList, kDeviceTypeCount> kernels_{};
  std::array<std::atomic<Handler>, kKeyCount> handlers_{};
};

// Registers an op from outside the library. Its name must have a namespace, as in "demo::axpb".
PEL_API const Op& register_op(OpDef def);
PEL_API const Op* find_op(std::string_view name);  // null if there is none
PEL_API std::vector<const Op*> all_ops();          // built-in ones first, by name

// A call by boxed values. Missing trailing arguments have the schema's defaults.
PEL_API std::vector<Value> call_boxed(const Op& op, std::vector<Value> args, Site site = Site::current());

// The dtype that a pointwise call computes in, and the number of the op's formula.
struct Computation {
  DType dtype;
  std::uint8_t formula = 0;
};
// Runs the first kernel of the op's list for the outputs' device that supports the call. Checks dtypes and
// devices, and that no output is read-only, overlaps itself, or partly overlaps an input.
PEL_API void launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                    ArrayView<Scalar> scalars = {},
                    const std::optional<Computation>& computation = std::nullopt);

// To be called by every body that writes to an argument marked (a!).
PEL_API void bump_version(const Tensor& written);

namespace detail {

// What a tensor carries, and what its memory does: a view that was made before a write which has a gradient.
inline std::uint16_t keys_of(const Tensor& t) {
  if (!t.defined()) return kUndefined;
  return static_cast<std::uint16_t>(t.header()->keys | t.header()->storage->keys);
}
inline std::uint16_t keys_of(const std::optional<Tensor>& t) { return t ? keys_of(*t) : std::uint16_t{0}; }
inline std::uint16_t keys_of(ArrayView<Tensor> list) {
  unsigned keys = 0;
  for (const Tensor& t : list) keys |= keys_of(t);
  return static_cast<std::uint16_t>(keys);
}
template <class T>
constexpr std::uint16_t keys_of(const T&) {
  return 0;
}

template <class First, class... Rest>
const Tensor& first_tensor(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, Tensor>) {
    return first;
  } else {
    return first_tensor(rest...);
  }
}

PEL_API void dispatch(const Op& op, BoxedCall& call);

// A call whose arguments require a gradient: made before the body runs, which may overwrite them; finished
// with the results. Defined in src/autograd/.
class PEL_API Recording {
 public:
  Recording(const Op& op, const Site& site, ArrayView<ArgRef> args);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  void finish(ArrayView<TensorRef> results);

 private:
  const Op& op_;
  ArrayView<ArgRef> args_;
  void* node_;  // null: nothing is recorded
};

// A call that a Profile records, from here to the end of the scope. Defined in src/profile/op_span.cc.
class PEL_API OpSpan {
 public:
  OpSpan(const Op& op, const Site& site, ArrayView<ArgRef> args, KeySet keys);  // those still to visit
  ~OpSpan();
  OpSpan(const OpSpan&) = delete;
  OpSpan& operator=(const OpSpan&) = delete;
  ArrayView<ArgRef> args() const { return args_; }
  // Only the return follows its kernel: one time stamp ends both.
  bool ends_with_kernel() const { return ends_with_kernel_; }
  bool is_outermost() const { return outer_ == nullptr; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t id() const { return id_; }

 private:
  friend PEL_API void note_sequence(std::uint64_t sequence);
  void write(std::uint64_t end) const;
  const Op& op_;
  ArrayView<ArgRef> args_;
  std::uint32_t session_;  // 0: nothing is recorded
  bool sets_site_ = false, ends_with_kernel_ = false;
  OpSpan* outer_ = nullptr;
  std::uint64_t begin_ = 0, id_ = 0, sequence_ = 0;
};

// The innermost call that a Profile records has a gradient, of this number.
PEL_API void note_sequence(std::uint64_t sequence);

// This memory is saved for a gradient: the write is noted, for the error message.
PEL_API void note_write(const Tensor& written, const Op& op, const Site& site);

template <auto Body, class R, bool TakesOp, class... P>
struct BodyCall {
  static R invoke([[maybe_unused]] const Op& op, P... args) {
    if constexpr (TakesOp) {
      return Body(op, static_cast<P>(args)...);
    } else {
      return Body(static_cast<P>(args)...);
    }
  }

  static R invoke_at(const Op& op, const Site& site, P... args) {
    if constexpr (std::is_reference_v<R>) {
      R written = invoke(op, static_cast<P>(args)...);
      if (written.header()->storage->is_watched.load(std::memory_order_relaxed)) [[unlikely]]
        note_write(written, op, site);
      return written;
    } else {
      return invoke(op, static_cast<P>(args)...);
    }
  }

  // One test when no key but Backend is on: then the body is called directly.
  static R run(const Op& op, const Site& site, P... args) {
    const KeySet keys = active_keys(static_cast<std::uint16_t>((0u | ... | keys_of(args))));
    try {
      if (keys.bits() <= KeySet(Key::Backend).bits()) [[likely]]
        return invoke_at(op, site, static_cast<P>(args)...);
      return run_keys(op, site, keys, static_cast<P>(args)...);
    } catch (Error& error) {
      error.leave_call(op.name(), site);
      throw;
    }
  }

  [[gnu::noinline]] static R run_keys(const Op& op, const Site& site, KeySet keys, P... args) {
    if (keys == (KeySet(Key::Autograd) | Key::Backend))
      return run_recorded(op, site, static_cast<P>(args)...);
    if ((keys.bits() & kOnDevice) != 0) {
      const DeviceCall noted(site);
      keys = keys.without(KeySet(kOnDevice));
      if (keys.bits() <= KeySet(Key::Backend).bits()) return invoke_at(op, site, static_cast<P>(args)...);
      return run_keys(op, site, keys, static_cast<P>(args)...);
    }
    if (keys.contains(Key::Profile) && (keys.bits() & kSlow) == 0) {
      keys = keys.without(Key::Profile);
      const std::array<ArgRef, sizeof...(P)> refs = {arg_ref<std::decay_t<P>>(args)...};
      OpSpan span(op, site, refs, keys);
      if (keys.bits() <= KeySet(Key::Backend).bits()) return invoke_at(op, site, static_cast<P>(args)...);
      return run_keys(op, site, keys, static_cast<P>(args)...);
    }
    return run_boxed(op, site, keys, static_cast<P>(args)...);
  }

  // Autograd alone is on: what run_boxed would do, without boxing more than is saved.
  [[gnu::noinline]] static R run_recorded(const Op& op, const Site& site, P... args) {
    if (!op.is_recorded()) return invoke_at(op, site, static_cast<P>(args)...);
    const std::array<ArgRef, sizeof...(P)> refs = {arg_ref<std::decay_t<P>>(args)...};
    Recording recording(op, site, refs);
    const KeyScope below({}, Key::Autograd);
    if constexpr (std::is_void_v<R>) {
      invoke(op, static_cast<P>(args)...);
    } else if constexpr (std::is_reference_v<R>) {
      R written = invoke_at(op, site, static_cast<P>(args)...);
      recording.finish({written});
      return written;
    } else {
      R result = invoke(op, static_cast<P>(args)...);
      Returning<R>::with_tensors(result, [&](ArrayView<TensorRef> tensors) { recording.finish(tensors); });
      return result;
    }
  }

  [[gnu::noinline]] static R run_boxed(const Op& op, const Site& site, KeySet keys, P... args) {
    BoxedCall call{site, keys, {}, {}, {}};
    call.args.reserve(sizeof...(P));
    (call.args.push_back(Boxing<std::decay_t<P>>::box(args)), ...);
    dispatch(op, call);
    if constexpr (std::is_reference_v<R>) {
      return first_tensor(args...);
    } else if constexpr (!std::is_void_v<R>) {
      return Returning<R>::unbox(call.results);
    }
  }

  static void boxed(const Op& op, BoxedCall& call) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_void_v<R>) {
        invoke(op, Boxing<std::decay_t<P>>::unbox(call.args.at(I))...);
      } else {
        Returning<std::decay_t<R>>::box(
            call.results, invoke_at(op, call.site, Boxing<std::decay_t<P>>::unbox(call.args.at(I))...));
      }
    }(std::index_sequence_for<P...>());
  }
  static std::vector<ArgType> arg_types() { return {Boxing<std::decay_t<P>>::type...}; }
};

template <auto Body, class F>
struct BodyTraits;
template <auto Body, class R, class... P>
struct BodyTraits<Body, R (*)(P...)> : BodyCall<Body, R, false, P...> {};
template <auto Body, class R, class... P>
struct BodyTraits<Body, R (*)(const Op&, P...)> : BodyCall<Body, R, true, P...> {};
template <auto Body>
using BodyOf = BodyTraits<Body, decltype(Body)>;

}  // namespace detail

// An op whose body is the C++ function Body: R(Args...) or R(const Op&, Args...).
template <auto Body>
OpDef define_op(OpKind kind, std::string schema) {
  OpDef def;
  def.schema = std::move(schema);
  def.kind = kind;
  def.body = &detail::BodyOf<Body>::boxed;
  def.arg_types = detail::BodyOf<Body>::arg_types();
  return def;
}

// Calls `op` through its keys. Body is the function it was defined with.
template <auto Body, class... Args>
decltype(auto) call(const Op& op, const Site& site, Args&&... args) {
  return detail::BodyOf<Body>::run(op, site, std::forward<Args>(args)...);
}

}  // namespace pel

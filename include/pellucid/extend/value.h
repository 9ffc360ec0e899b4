// Arguments and results in boxed form, as handlers, logs and bindings see them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "pellucid/enum_names.h"
#include "pellucid/extend/keys.h"
#include "pellucid/tensor.h"

namespace pel {

class Op;

// One argument or result. std::monostate is None; int is a Dim, int[] a list of them.
using Value = std::variant<std::monostate, Tensor, std::vector<Tensor>, Dim, double, bool, Scalar, DType,
                           Device, std::vector<Dim>, std::string>;
PEL_API std::string to_string(const Value& value);  // tensors by dtype and sizes: "f32[2, 3]"

// A number for an argument of type Tensor: it promotes as a number does, by kind and not by size.
PEL_API Tensor make_number(const Scalar& value, Device device);

// A tensor on its way into a call, without touching its reference count.
struct TensorRef {
  TensorRef(const Tensor& t) : tensor(&t) {}
  const Tensor* tensor;
};

// A call on its way down through the keys.
struct BoxedCall {
  Site site;
  KeySet keys;     // still to visit
  KeySet visited;  // whose handlers have run
  std::vector<Value> args;
  std::vector<Value> results;
  // Goes on to the next key below; the last is the op's body, which fills `results`.
  PEL_API void redispatch(const Op& op);
};
using Handler = void (*)(const Op& op, BoxedCall& call);

// A type of a schema: "Tensor", "Dim[]", "DType?".
struct ArgType {
  enum class Base : std::uint8_t { None, Tensor, Int, Dim, Float, Bool, Scalar, DType, Device, String };
  Base base = Base::None;
  bool is_list = false;
  bool is_optional = false;
  constexpr bool operator==(const ArgType&) const = default;
};

namespace detail {

[[noreturn]] PEL_API void throw_wrong_value(const Value& value, ArgType wanted);
[[noreturn]] PEL_API void throw_wrong_length(std::size_t length, std::size_t wanted);
// Which of the spellings of an enum `given` is; a ValueError that lists them if it is none.
PEL_API std::size_t index_of_spelling(std::string_view given, std::string_view argument,
                                      ArrayView<std::string_view> spellings);

template <class T>
const T& get(const Value& value, ArgType wanted) {
  if (const T* p = std::get_if<T>(&value)) return *p;
  throw_wrong_value(value, wanted);
}

// Boxing<P> for each parameter type P of an op's body: its schema type, and how it is boxed and unboxed.
// unbox returns something that converts to P and lives through the call.
template <class P>
struct Boxing;

template <class T, ArgType::Base B>
struct PlainBoxing {
  static constexpr ArgType type{B, false, false};
  static Value box(const T& v) { return v; }
  static const T& unbox(const Value& v) { return get<T>(v, type); }
};
template <>
struct Boxing<Tensor> : PlainBoxing<Tensor, ArgType::Base::Tensor> {};
template <>
struct Boxing<double> : PlainBoxing<double, ArgType::Base::Float> {
  static double unbox(const Value& v) {
    if (const Dim* d = std::get_if<Dim>(&v)) return static_cast<double>(d->value());
    return get<double>(v, type);
  }
};
template <>
struct Boxing<bool> : PlainBoxing<bool, ArgType::Base::Bool> {};
template <>
struct Boxing<DType> : PlainBoxing<DType, ArgType::Base::DType> {};
template <>
struct Boxing<Device> : PlainBoxing<Device, ArgType::Base::Device> {};
template <>
struct Boxing<Dim> : PlainBoxing<Dim, ArgType::Base::Dim> {};
template <>
struct Boxing<Scalar> : PlainBoxing<Scalar, ArgType::Base::Scalar> {
  static Scalar unbox(const Value& v) {
    if (const Dim* d = std::get_if<Dim>(&v)) return *d;
    if (const double* d = std::get_if<double>(&v)) return *d;
    if (const bool* b = std::get_if<bool>(&v)) return *b;
    return get<Scalar>(v, type);
  }
};
template <>
struct Boxing<std::int64_t> {
  static constexpr ArgType type{ArgType::Base::Int, false, false};
  static Value box(std::int64_t v) { return Dim(v); }
  static std::int64_t unbox(const Value& v) { return get<Dim>(v, type).value(); }
};
// A named yes/no, such as KeepDims.
template <class E>
  requires(std::is_enum_v<E> && std::is_same_v<std::underlying_type_t<E>, bool>)
struct Boxing<E> {
  static constexpr ArgType type{ArgType::Base::Bool, false, false};
  static Value box(E v) { return static_cast<bool>(v); }
  static E unbox(const Value& v) { return static_cast<E>(get<bool>(v, type)); }
};
// An enum that stands for an integer of PyTorch, such as GridPadding. Bodies check the range.
template <class E>
  requires(std::is_enum_v<E> && std::is_same_v<std::underlying_type_t<E>, std::int64_t>)
struct Boxing<E> {
  static constexpr ArgType type{ArgType::Base::Int, false, false};
  static Value box(E v) { return Dim(static_cast<std::int64_t>(v)); }
  static E unbox(const Value& v) { return static_cast<E>(get<Dim>(v, type).value()); }
};
// An enum that stands for a string, such as Reduction.
template <NamedEnum E>
struct Boxing<E> {
  static constexpr ArgType type{ArgType::Base::String, false, false};
  static Value box(E v) { return std::string(name(v)); }
  static E unbox(const Value& v) {
    return static_cast<E>(
        index_of_spelling(get<std::string>(v, type), enum_names<E>.argument, enum_names<E>.spellings));
  }
};
template <>
struct Boxing<std::string_view> {
  static constexpr ArgType type{ArgType::Base::String, false, false};
  static Value box(std::string_view v) { return std::string(v); }
  static std::string_view unbox(const Value& v) { return get<std::string>(v, type); }
};
template <>
struct Boxing<ArrayView<Tensor>> {
  static constexpr ArgType type{ArgType::Base::Tensor, true, false};
  static Value box(ArrayView<Tensor> v) { return v.vec(); }
  static ArrayView<Tensor> unbox(const Value& v) { return get<std::vector<Tensor>>(v, type); }
};
template <>
struct Boxing<Dims> {
  static constexpr ArgType type{ArgType::Base::Dim, true, false};
  static Value box(Dims v) { return v.vec(); }
  static Dims unbox(const Value& v) { return get<std::vector<Dim>>(v, type); }
};
template <>
struct Boxing<Ints> {
  static constexpr ArgType type{ArgType::Base::Int, true, false};
  static Value box(Ints v) { return std::vector<Dim>(v.begin(), v.end()); }
  static std::vector<std::int64_t> unbox(const Value& v) {
    std::vector<std::int64_t> ints;
    for (Dim d : get<std::vector<Dim>>(v, type)) ints.push_back(d.value());
    return ints;
  }
};
template <>
struct Boxing<Axes> : Boxing<Ints> {};
// Which of several results are wanted: a list of 0 and 1.
template <std::size_t N>
struct Boxing<std::array<bool, N>> {
  static constexpr ArgType type{ArgType::Base::Int, true, false};
  static Value box(const std::array<bool, N>& v) {
    std::vector<Dim> list;
    for (const bool wanted : v) list.emplace_back(wanted ? 1 : 0);
    return list;
  }
  static std::array<bool, N> unbox(const Value& v) {
    const std::vector<std::int64_t> ints = Boxing<Ints>::unbox(v);
    if (ints.size() != N) throw_wrong_length(ints.size(), N);
    std::array<bool, N> mask;
    for (std::size_t i = 0; i < N; ++i) mask[i] = ints[i] != 0;
    return mask;
  }
};
template <class T>
struct Boxing<std::optional<T>> {
  static constexpr ArgType type{Boxing<T>::type.base, Boxing<T>::type.is_list, true};
  static Value box(const std::optional<T>& v) { return v ? Boxing<T>::box(*v) : Value(); }
  // Of what T unboxes to, which may own what T only views.
  static auto unbox(const Value& v) {
    using Held = std::decay_t<decltype(Boxing<T>::unbox(v))>;
    return std::holds_alternative<std::monostate>(v) ? std::nullopt
                                                     : std::optional<Held>(Boxing<T>::unbox(v));
  }
};

// Boxing of what a body returns: Tensor, const Tensor& (the changed first argument), lists, tuples, void.
template <class R>
struct Returning {
  static void box(std::vector<Value>& out, const R& r) { out.push_back(Boxing<R>::box(r)); }
  static R unbox(std::vector<Value>& values) { return Boxing<R>::unbox(values.at(0)); }
  template <class F>
  static void with_tensors(const R& r, F&& f) {
    if constexpr (std::is_same_v<R, Tensor>) f({r});
  }
};
template <>
struct Returning<std::vector<Tensor>> {
  static void box(std::vector<Value>& out, std::vector<Tensor> r) { out.push_back(std::move(r)); }
  static std::vector<Tensor> unbox(std::vector<Value>& values) {
    return get<std::vector<Tensor>>(values.at(0), Boxing<ArrayView<Tensor>>::type);
  }
  template <class F>
  static void with_tensors(const std::vector<Tensor>& r, F&& f) {
    f(std::vector<TensorRef>(r.begin(), r.end()));
  }
};
template <class... Ts>
struct Returning<std::tuple<Ts...>> {
  static void box(std::vector<Value>& out, const std::tuple<Ts...>& r) {
    std::apply([&](const Ts&... each) { (out.push_back(Boxing<Ts>::box(each)), ...); }, r);
  }
  static std::tuple<Ts...> unbox(std::vector<Value>& values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<Ts...>(Boxing<Ts>::unbox(values.at(I))...);
    }(std::index_sequence_for<Ts...>());
  }
  template <class F>
  static void with_tensors(const std::tuple<Ts...>& r, F&& f) {
    std::apply([&](const Ts&... each) { f({TensorRef(each)...}); }, r);
  }
};

// An argument on its way into the record of a call: its tensors, and a way to box it.
struct ArgRef {
  ArrayView<Tensor> tensors;
  const void* value;
  Value (*box)(const void* value);
};
template <class T>
ArgRef arg_ref(const T& arg) {
  ArgRef ref{{}, &arg, [](const void* value) { return Boxing<T>::box(*static_cast<const T*>(value)); }};
  if constexpr (std::is_same_v<T, Tensor>) {
    ref.tensors = ArrayView<Tensor>(&arg, 1);
  } else if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
    if (arg) ref.tensors = ArrayView<Tensor>(&*arg, 1);
  } else if constexpr (std::is_same_v<T, ArrayView<Tensor>>) {
    ref.tensors = arg;
  }
  return ref;
}

}  // namespace detail
}  // namespace pel

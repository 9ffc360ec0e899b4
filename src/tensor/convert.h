// One element from one dtype to another. Defined here once; every cast in the library means this.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "pellucid/dtype.h"

namespace pel {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Float to integer goes towards zero and saturates, NaN becomes 0. Integers wrap. Halves go through f32.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsHalf<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Both bounds are powers of two (or 0), so exact in From.
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From(2);
    if (value != value) return To(0);
    if (value >= kHigh) return std::numeric_limits<To>::max();
    if (value < kLow) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Memory may have any alignment.
template <class T>
T load_as(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <>
inline bool load_as<bool>(const void* from) {
  return *static_cast<const unsigned char*>(from) != 0;
}
template <class T>
void store_as(void* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Calls f(std::type_identity<T>()) for the C++ type of `dtype`.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F64:
      return f(std::type_identity<double>());
    case DType::F32:
      return f(std::type_identity<float>());
    case DType::F16:
      return f(std::type_identity<Float16>());
    case DType::BF16:
      return f(std::type_identity<BFloat16>());
    case DType::I64:
      return f(std::type_identity<std::int64_t>());
    case DType::I32:
      return f(std::type_identity<std::int32_t>());
    case DType::I16:
      return f(std::type_identity<std::int16_t>());
    case DType::I8:
      return f(std::type_identity<std::int8_t>());
    case DType::U8:
      return f(std::type_identity<std::uint8_t>());
    case DType::Bool:
      break;
  }
  return f(std::type_identity<bool>());
}

}  // namespace pel

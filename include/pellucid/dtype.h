// Element types, their names, and how two of them promote.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "pellucid/api.h"

namespace pel {

// Numbers are stable: saved kernels and files contain them. 10 to 31 are free. Complex is out of scope.
enum class DType : std::uint8_t {
  F64 = 0,
  F32 = 1,
  F16 = 2,
  BF16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  U8 = 8,
  Bool = 9,
};
inline constexpr int kDTypeCount = 10;

inline constexpr DType kF64 = DType::F64, kF32 = DType::F32, kF16 = DType::F16, kBF16 = DType::BF16;
inline constexpr DType kI64 = DType::I64, kI32 = DType::I32, kI16 = DType::I16, kI8 = DType::I8;
inline constexpr DType kU8 = DType::U8, kBool = DType::Bool;

constexpr std::int64_t size_bytes(DType dtype) {
  constexpr std::int8_t kSizes[kDTypeCount] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return kSizes[static_cast<int>(dtype)];
}
constexpr bool is_floating(DType dtype) { return dtype <= DType::BF16; }
constexpr bool is_integral(DType dtype) { return dtype >= DType::I64 && dtype <= DType::U8; }

PEL_API std::string_view name(DType dtype);  // "f32"

// The dtype that holds both, as in PyTorch: promote_types(kU8, kI8) == kI16, promote_types(kI64, kF16) ==
// kF16.
PEL_API DType promote_types(DType a, DType b);
// Whether values of `from` may be written into `to` by an in-place op: never from a higher category
// (floating, integral, bool) into a lower one.
PEL_API bool can_cast(DType from, DType to);

class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> list) {
    for (DType d : list) bits_ |= 1u << static_cast<int>(d);
  }
  constexpr bool contains(DType d) const { return (bits_ >> static_cast<int>(d)) & 1u; }
  constexpr friend DTypeSet operator|(DTypeSet a, DTypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }
  constexpr bool operator==(const DTypeSet&) const = default;

 private:
  std::uint32_t bits_ = 0;
};
PEL_API std::string to_string(DTypeSet set);  // "f64, f32"
inline constexpr DTypeSet kFloating = {kF64, kF32, kF16, kBF16};
inline constexpr DTypeSet kIntegral = {kI64, kI32, kI16, kI8, kU8};
inline constexpr DTypeSet kAllDTypes = kFloating | kIntegral | DTypeSet{kBool};

namespace detail {
PEL_API std::uint16_t float_to_half(float value);  // round to nearest even
PEL_API float half_to_float(std::uint16_t bits);

constexpr std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
}  // namespace detail

// Storage types: they convert, they do not compute.
struct Float16 {
  Float16() = default;
  explicit Float16(float value) : bits(detail::float_to_half(value)) {}
  explicit operator float() const { return detail::half_to_float(bits); }
  std::uint16_t bits = 0;
};
struct BFloat16 {
  BFloat16() = default;
  explicit constexpr BFloat16(float value) : bits(detail::float_to_bfloat(value)) {}
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  std::uint16_t bits = 0;
};

// dtype_of<float> == kF32. A type without an entry does not compile.
template <class T>
inline constexpr DType dtype_of = T::no_dtype_for_this_type;
template <>
inline constexpr DType dtype_of<double> = kF64;
template <>
inline constexpr DType dtype_of<float> = kF32;
template <>
inline constexpr DType dtype_of<Float16> = kF16;
template <>
inline constexpr DType dtype_of<BFloat16> = kBF16;
template <>
inline constexpr DType dtype_of<std::int64_t> = kI64;
template <>
inline constexpr DType dtype_of<std::int32_t> = kI32;
template <>
inline constexpr DType dtype_of<std::int16_t> = kI16;
template <>
inline constexpr DType dtype_of<std::int8_t> = kI8;
template <>
inline constexpr DType dtype_of<std::uint8_t> = kU8;
template <>
inline constexpr DType dtype_of<bool> = kBool;

}  // namespace pel

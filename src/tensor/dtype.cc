#include "pellucid/dtype.h"

#include <bit>
#include <string_view>

namespace pel {

std::string_view name(DType dtype) {
  constexpr std::string_view kNames[kDTypeCount] = {"f64", "f32", "f16", "bf16", "i64",
                                                    "i32", "i16", "i8",  "u8",   "bool"};
  return kNames[static_cast<int>(dtype)];
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (a == kF64 || b == kF64) return kF64;
    return kF32;  // f32 with a half, or the two halves, neither of which holds the other
  }
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (a != kU8 && b != kU8) return size_bytes(a) > size_bytes(b) ? a : b;
  const DType is_signed = a == kU8 ? b : a;
  return is_signed == kI8 ? kI16 : is_signed;
}

bool can_cast(DType from, DType to) {
  if (is_floating(from)) return is_floating(to);
  if (is_integral(from)) return to != kBool;
  return true;
}

namespace detail {

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // at least 2^16: infinity
  if (magnitude < 0x38800000u) {                        // below 2^-14: a half denormal
    // Adding 0.5 aligns the last place of the sum with the half's: the hardware rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float denormal = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -denormal : denormal;
}

}  // namespace detail
std::string to_string(DTypeSet set) {
  std::string text;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (set.contains(dtype)) text.append(text.empty() ? "" : ", ").append(name(dtype));
  }
  return text;
}

}  // namespace pel

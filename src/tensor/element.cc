#include "tensor/element.h"

#include <cmath>

#include "base/check.h"
#include "tensor/convert.h"

namespace pel {
namespace {

// The largest finite value of each dtype, for numbers that come from outside.
double max_value(DType dtype) {
  constexpr double kMaxValues[kDTypeCount] = {
      0x1.fffffffffffffp1023, 0x1.fffffep127, 65504, 0x1.fep127, 0x1p63, 2147483647, 32767, 127, 255, 1};
  return kMaxValues[static_cast<int>(dtype)];
}

bool fits(DType dtype, const Scalar& value) {
  if (dtype == kBool) return true;
  if (is_floating(dtype)) {
    const double v = value.to_double();
    return std::isnan(v) || std::isinf(v) || std::fabs(v) <= max_value(dtype);
  }
  if (value.is_float()) {
    const double v = value.to_double();
    // Cut first: 127.9 fits i8. 2^63 itself does not fit i64, though it is the nearest double to its maximum.
    const double cut = std::trunc(v), max = max_value(dtype);
    if (dtype == kI64) return cut < max && cut >= -max;
    return cut <= max && cut >= (dtype == kU8 ? -max : -max - 1);  // NaN compares false
  }
  const std::int64_t v = value.to_int();
  if (dtype == kI64) return true;
  const auto max = static_cast<std::int64_t>(max_value(dtype));
  return v <= max && v >= (dtype == kU8 ? -max : -max - 1);
}

}  // namespace

Scalar load_element(DType dtype, const void* from) {
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> Scalar {
    const T value = load_as<T>(from);
    if constexpr (kIsHalf<T>) {
      return static_cast<float>(value);
    } else {
      return value;
    }
  });
}

void check_fits(DType dtype, const Scalar& value) {
  PEL_CHECK(fits(dtype, value), ValueError, "{} does not fit into {}", to_string(value), name(dtype));
}

void store_element(DType dtype, void* to, const Scalar& value) {
  with_type(dtype, [&]<class T>(std::type_identity<T>) {
    if (value.is_float() && !std::is_same_v<T, std::uint8_t>) {
      store_as(to, convert<T>(value.to_double()));
    } else {
      store_as(to, convert<T>(value.to_int()));
    }
  });
}

}  // namespace pel

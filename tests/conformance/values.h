// Elements as numbers, random arguments from an op's domains, and errors in units of the last place.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "pellucid/ops.h"

#include "dispatch/pointwise.h"
#include "tensor/convert.h"

namespace pel::conformance {

// Bits after the point, and the exponents of the smallest normal and the largest number.
struct FloatFormat {
  int digits, min_exponent, max_exponent;
};
inline FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return {52, -1022, 1023};
    case DType::F32:
      return {23, -126, 127};
    case DType::F16:
      return {10, -14, 15};
    default:
      return {7, -126, 127};
  }
}

// ilogb and ldexp by the bits of a double: the sweeps spend their time here. Zero and denormals of double
// have the exponent -1023, which is below all that are asked for.
template <class Real>
int exponent_of(Real value) {
  if constexpr (std::is_same_v<Real, double>) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff) - 1023;
  } else {
    return value == 0 ? std::numeric_limits<int>::min() : std::ilogb(value);
  }
}
template <class Real>
Real power_of_two(int exponent) {
  if constexpr (std::is_same_v<Real, double>) {
    if (exponent >= -1022) return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }
  return std::ldexp(Real(1), exponent);
}

template <class Real>
Real ulp(Real value, DType dtype) {
  const FloatFormat format = format_of(dtype);
  int exponent = format.min_exponent;
  if (std::isfinite(value)) exponent = std::max(exponent, exponent_of(value));
  exponent = std::min(exponent, format.max_exponent);
  return power_of_two<Real>(exponent - format.digits);
}

// |result - reference| in units of the last place of `scale` or of the reference, whichever is larger.
// Infinity counts as the number after the largest.
template <class Real>
double error_in_ulp(Real result, Real reference, Real scale, DType dtype) {
  if (std::isnan(result) || std::isnan(reference))
    return std::isnan(result) && std::isnan(reference) ? 0 : std::numeric_limits<double>::infinity();
  const Real beyond = power_of_two<Real>(format_of(dtype).max_exponent + 1);
  const auto bounded = [&](Real v) { return std::abs(v) > beyond ? std::copysign(beyond, v) : v; };
  if (result == reference) return 0;
  if (!(std::abs(scale) <= beyond)) scale = 0;
  const Real unit = std::max(ulp(bounded(reference), dtype), ulp(scale, dtype));
  return static_cast<double>(std::abs(bounded(result) - bounded(reference)) / unit);
}

// Element i of a dense array.
template <class Number>
Number element(const void* data, DType dtype, std::int64_t i) {
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> Number {
    const T value =
        load_as<T>(static_cast<const std::byte*>(data) + i * static_cast<std::int64_t>(sizeof(T)));
    if constexpr (kIsHalf<T>) {
      return static_cast<Number>(static_cast<float>(value));
    } else {
      return static_cast<Number>(value);
    }
  });
}
inline bool same_bits(const void* a, const void* b, DType dtype, std::int64_t i) {
  const std::int64_t size = size_bytes(dtype);
  if (std::memcmp(static_cast<const std::byte*>(a) + i * size, static_cast<const std::byte*>(b) + i * size,
                  static_cast<std::size_t>(size)) == 0)
    return true;
  return is_floating(dtype) && std::isnan(element<double>(a, dtype, i)) &&
         std::isnan(element<double>(b, dtype, i));
}

inline Domain domain_of(const Pointwise& facts, int argument) {
  if (facts.domains.empty()) return {};
  return facts.domains[std::min(static_cast<std::size_t>(argument), facts.domains.size() - 1)];
}

// Fills a dense array with arguments for input `argument` of an op.
class ArgumentSource {
 public:
  explicit ArgumentSource(std::uint64_t seed) : engine_(seed) {}

  void fill(const Pointwise& facts, int argument, DType dtype, void* data, std::int64_t count) {
    const Domain domain = domain_of(facts, argument);
    const bool no_zero = facts.divides && argument == facts.input_count - 1 && !is_floating(dtype);
    for (std::int64_t i = 0; i < count; ++i) {
      with_type(dtype, [&]<class T>(std::type_identity<T>) {
        T value = draw<T>(domain, facts.tries_extremes);
        if constexpr (std::is_integral_v<T>) {
          if (no_zero && value == T(0)) value = T(1);
        }
        store_as(static_cast<std::byte*>(data) + i * static_cast<std::int64_t>(sizeof(T)), value);
      });
    }
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

  template <class T>
  T draw(const Domain& domain, bool extremes) {
    const bool extreme = extremes && engine_() % 8 == 0;
    if constexpr (std::is_same_v<T, bool>) {
      return engine_() % 2 == 0;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr T kEdges[] = {T(0), T(1), static_cast<T>(-1), std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max()};
      if (extreme) return kEdges[engine_() % 5];
      return convert<T>(std::round(uniform(domain.low, domain.high)));
    } else {
      if (!extreme) return convert<T>(uniform(domain.low, domain.high));
      return extreme_float<T>();
    }
  }
  template <class T>
  T extreme_float() {
    const FloatFormat format = format_of(dtype_of<T>);
    const double largest = std::ldexp(2.0 - std::ldexp(1.0, -format.digits), format.max_exponent);
    const double edges[] = {0.0,
                            -0.0,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            1.0,
                            -1.0,
                            0.5,
                            largest,
                            -largest,
                            std::ldexp(1.0, format.min_exponent),
                            std::ldexp(1.0, format.min_exponent - format.digits),
                            std::ldexp(-3.0, format.min_exponent - format.digits)};
    return convert<T>(edges[engine_() % std::size(edges)]);
  }

  std::mt19937_64 engine_;
};

}  // namespace pel::conformance

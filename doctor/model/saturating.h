// Arithmetic on the times and sizes of a trace. A trace may contain any numbers, so results stop at the ends
// of the range instead of overflowing. The range is symmetric: a result can always be negated.
//
// Two times of a trace, begins and ends as EventTable stores them, differ by less than 2^62: one difference,
// or twice one, cannot overflow. Everything that adds up more than that is a SaturatingSum or uses the
// functions below.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace pel::doctor {

inline constexpr std::int64_t kMaxSum = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? -kMaxSum : kMaxSum;
  return sum < -kMaxSum ? -kMaxSum : sum;
}
constexpr std::int64_t saturating_sub(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < 0 ? -kMaxSum : kMaxSum;
  return difference < -kMaxSum ? -kMaxSum : difference;
}
constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? -kMaxSum : kMaxSum;
  return product < -kMaxSum ? -kMaxSum : product;
}
// Rounds toward zero. NaN is 0.
inline std::int64_t saturating_cast(double number) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(number)) return 0;
  if (number >= kLimit) return kMaxSum;
  if (number <= -kLimit) return -kMaxSum;
  return static_cast<std::int64_t>(number);
}

// A number that other numbers are added to.
class SaturatingSum {
 public:
  constexpr SaturatingSum(std::int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr operator std::int64_t() const { return value_; }          // NOLINT(google-explicit-constructor)

  constexpr SaturatingSum& operator+=(std::int64_t value) {
    value_ = saturating_add(value_, value);
    return *this;
  }
  constexpr SaturatingSum& operator-=(std::int64_t value) {
    value_ = saturating_sub(value_, value);
    return *this;
  }
  friend constexpr SaturatingSum operator+(SaturatingSum a, SaturatingSum b) { return a += b.value_; }
  friend constexpr SaturatingSum operator+(SaturatingSum a, std::int64_t b) { return a += b; }
  friend constexpr SaturatingSum operator+(std::int64_t a, SaturatingSum b) { return b += a; }
  friend constexpr SaturatingSum operator-(SaturatingSum a, SaturatingSum b) { return a -= b.value_; }
  friend constexpr SaturatingSum operator-(SaturatingSum a, std::int64_t b) { return a -= b; }
  friend constexpr SaturatingSum operator-(std::int64_t a, SaturatingSum b) {
    return saturating_sub(a, b.value_);
  }

 private:
  std::int64_t value_;
};

}  // namespace pel::doctor

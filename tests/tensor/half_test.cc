// The two half formats against a reference that searches: all values of the format, as doubles, in order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/dtype.h"

#include "support/random.h"

namespace pel {
namespace {

// Value of a finite pattern by the definition of the format: sign, exponent with bias, mantissa.
double value_by_definition(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double mantissa = bits & ((1u << mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp(mantissa + std::ldexp(1, mantissa_bits), exponent - bias - mantissa_bits);
  return bits & 0x8000u ? -magnitude : magnitude;
}

class Format {
 public:
  Format(int exponent_bits, int mantissa_bits) : infinity_(((1u << exponent_bits) - 1) << mantissa_bits) {
    // The pattern of infinity counts as the next power of two: values from half way on round to it.
    for (std::uint32_t bits = 0; bits <= infinity_; ++bits)
      values_.push_back(value_by_definition(bits, exponent_bits, mantissa_bits));
  }
  std::uint32_t infinity() const { return infinity_; }
  const std::vector<double>& values() const { return values_; }

  // Not for NaN.
  std::uint16_t nearest_even(float value) const {
    const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0;
    const double x = std::fabs(static_cast<double>(value));
    const auto above =
        static_cast<std::uint32_t>(std::lower_bound(values_.begin(), values_.end(), x) - values_.begin());
    if (above > infinity_) return static_cast<std::uint16_t>(sign | infinity_);
    if (values_[above] == x) return static_cast<std::uint16_t>(sign | above);
    const double middle = (values_[above - 1] + values_[above]) / 2;  // exact
    const bool up = x > middle || (x == middle && above % 2 == 0);
    return static_cast<std::uint16_t>(sign | (up ? above : above - 1));
  }

 private:
  std::uint32_t infinity_;
  std::vector<double> values_;
};

const Format& half_format() {
  static const Format format(5, 10);
  return format;
}
const Format& bfloat_format() {
  static const Format format(8, 7);
  return format;
}

template <class Half>
Half from_bits(std::uint32_t bits) {
  Half h;
  h.bits = static_cast<std::uint16_t>(bits);
  return h;
}

template <class Half>
void expect_all_values_round_trip(const Format& format) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto wide = static_cast<float>(from_bits<Half>(bits));
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude > format.infinity()) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      const Half back(wide);
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
      ASSERT_EQ(back.bits & 0x8000u, bits & 0x8000u) << bits;
      continue;
    }
    const double expected =
        magnitude == format.infinity() ? std::numeric_limits<double>::infinity() : format.values()[magnitude];
    ASSERT_EQ(std::fabs(static_cast<double>(wide)), expected) << bits;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000u) != 0) << bits;
    ASSERT_EQ(Half(wide).bits, bits);
  }
}

TEST(Float16, AllValuesAreWhatTheFormatSaysAndRoundTrip) {
  expect_all_values_round_trip<Float16>(half_format());
}
TEST(BFloat16, AllValuesAreWhatTheFormatSaysAndRoundTrip) {
  expect_all_values_round_trip<BFloat16>(bfloat_format());
}

template <class Half>
void expect_nearest_even(const Format& format, float value) {
  ASSERT_EQ(Half(value).bits, format.nearest_even(value)) << std::hexfloat << value;
  ASSERT_EQ(Half(-value).bits, format.nearest_even(-value)) << std::hexfloat << -value;
}

// Each value, the middle to the next one, and the floats next to both.
template <class Half>
void expect_ties_to_even(const Format& format) {
  for (std::uint32_t bits = 0; bits < format.infinity(); ++bits) {
    const double value = format.values()[bits], middle = (value + format.values()[bits + 1]) / 2;
    for (const double near : {value, middle}) {
      const auto x = static_cast<float>(near);
      expect_nearest_even<Half>(format, x);
      expect_nearest_even<Half>(format, std::nextafter(x, 0.0f));
      expect_nearest_even<Half>(format, std::nextafter(x, INFINITY));
    }
  }
}

TEST(Float16, TiesAndTheirNeighboursRoundToNearestEven) { expect_ties_to_even<Float16>(half_format()); }
TEST(BFloat16, TiesAndTheirNeighboursRoundToNearestEven) { expect_ties_to_even<BFloat16>(bfloat_format()); }

template <class Half>
void expect_random_floats_round(const Format& format) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  for (int i = 0; i < test::Random::share_of(300'000); ++i) {
    const auto value = std::bit_cast<float>(random.bits32());
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(value))));
    } else {
      expect_nearest_even<Half>(format, value);
    }
  }
}

TEST(Float16, RandomFloatsRoundToNearestEven) { expect_random_floats_round<Float16>(half_format()); }
TEST(BFloat16, RandomFloatsRoundToNearestEven) { expect_random_floats_round<BFloat16>(bfloat_format()); }

TEST(Float16, RoundsToInfinityFromHalfAStepAboveTheLargestValue) {
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bffu);
  EXPECT_EQ(Float16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bffu);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00u);
  EXPECT_EQ(Float16(-1e30f).bits, 0xfc00u);
  EXPECT_EQ(Float16(INFINITY).bits, 0x7c00u);
}

TEST(Float16, TinyNumbersKeepTheirSign) {
  EXPECT_EQ(Float16(0x1p-25f).bits, 0u);  // half of the smallest denormal: a tie, to even
  EXPECT_EQ(Float16(std::nextafter(0x1p-25f, 1.0f)).bits, 1u);
  EXPECT_EQ(Float16(-0.0f).bits, 0x8000u);
  EXPECT_EQ(Float16(-1e-30f).bits, 0x8000u);
}

TEST(BFloat16, ANaNWhoseHighBitsAreZeroStaysNaN) {
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace pel

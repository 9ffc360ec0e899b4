#include "pellucid/dim.h"

#include <sstream>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::int64_t kMin = Dim::kMinPlain;

TEST(Dim, IsEightTriviallyCopyableBytes) {
  static_assert(sizeof(Dim) == 8);
  static_assert(std::is_trivially_copyable_v<Dim>);
  static_assert(!std::is_constructible_v<Dim, bool>);
  EXPECT_EQ(Dim().value(), 0);
}

TEST(Dim, TakesEveryIntegerType) {
  EXPECT_EQ(Dim(std::int8_t{-3}).value(), -3);
  EXPECT_EQ(Dim(std::uint32_t{4000000000u}).value(), 4000000000);
  EXPECT_EQ(Dim(std::size_t{7}).value(), 7);
}

TEST(Dim, ComputesAsIntegersDo) {
  EXPECT_EQ(Dim(2) + 3, 5);
  EXPECT_EQ(2 - Dim(5), -3);
  EXPECT_EQ(Dim(-4) * 6, -24);
  EXPECT_EQ(-Dim(9), -9);
  Dim d = 10;
  d += 5;
  d -= 3;
  d *= 2;
  ++d;
  EXPECT_EQ(d, 25);
}

TEST(Dim, DivisionRoundsTowardsMinusInfinityAndTheRestHasTheDivisorsSign) {
  for (std::int64_t a = -13; a <= 13; ++a) {
    for (std::int64_t b = -5; b <= 5; ++b) {
      if (b == 0) continue;
      const std::int64_t quotient = (Dim(a) / b).value(), rest = (Dim(a) % b).value();
      EXPECT_EQ(quotient * b + rest, a) << a << " by " << b;
      EXPECT_TRUE(b > 0 ? rest >= 0 && rest < b : rest <= 0 && rest > b) << a << " by " << b;
    }
  }
  EXPECT_EQ(Dim(-7) / 2, -4);
  EXPECT_EQ(Dim(7) % -2, -1);
}

TEST(Dim, DividesTheExtremes) {
  EXPECT_EQ(Dim(kMin) / -1, std::int64_t{1} << 62);
  EXPECT_EQ(Dim(kMax) / kMax, 1);
  EXPECT_EQ(Dim(kMax) / -2, kMin);
  EXPECT_THROW(static_cast<void>(Dim(kMax) / -1), ValueError);
}

TEST(Dim, TheRestOfTheExtremesIsFoundWithoutOverflow) {
  EXPECT_EQ(Dim(kMax) % kMin, -1);
  EXPECT_EQ(Dim(kMax) % (kMin + 1), kMin + 2);
  EXPECT_EQ(Dim(kMin) % kMax, kMax + kMin);
}

TEST(Dim, DivisionByZeroIsAValueError) {
  EXPECT_EQ(thrown_by<ValueError>([] { static_cast<void>(Dim(7) / 0); }).message(),
            "7 is divided by a size of zero");
  EXPECT_THROW(static_cast<void>(Dim(7) % 0), ValueError);
}

TEST(Dim, OverflowIsAnErrorThatShowsBothSides) {
  EXPECT_EQ(thrown_by<ValueError>([] { static_cast<void>(Dim(kMax) + 1); }).message(),
            "sizes are too large: 9223372036854775807 + 1 overflows");
  EXPECT_EQ(thrown_by<ValueError>([] {
              static_cast<void>(Dim(std::int64_t{1} << 40) * (std::int64_t{1} << 40));
            }).message(),
            "sizes are too large: 1099511627776 * 1099511627776 overflows");
  EXPECT_THROW(static_cast<void>(Dim(kMin) - 1), ValueError);
  EXPECT_THROW(static_cast<void>(Dim(kMin) * 2), ValueError);
  EXPECT_THROW(static_cast<void>(Dim(kMax) * -1), ValueError);
  EXPECT_THROW(static_cast<void>(-Dim(kMax)), ValueError);
}

TEST(Dim, TheRangeReachesFromMinusTwoToThe62ToTheLargestInteger) {
  EXPECT_EQ(Dim(kMax).value(), kMax);
  EXPECT_EQ(Dim(kMin).value(), kMin);
  EXPECT_FALSE(Dim(kMin).is_symbolic());
  EXPECT_EQ(Dim(kMax - 1) + 1, kMax);
  EXPECT_EQ(Dim(kMin + 1) - 1, kMin);
  EXPECT_THROW(Dim(kMin - 1), ValueError);
  EXPECT_THROW(Dim{INT64_MIN}, ValueError);
}

TEST(Dim, AnUnsignedNumberAboveTheRangeIsRefused) {
  EXPECT_THROW(Dim(std::uint64_t{1} << 63), ValueError);
  EXPECT_THROW(Dim{UINT64_MAX}, ValueError);  // must not become -1
}

TEST(Dim, ComparesWithIntegersOnBothSides) {
  const Dim d = 4;
  EXPECT_TRUE(d == 4 && 4 == d && d != 5 && 5 != d);
  EXPECT_TRUE(d < 5 && 3 < d && d <= 4 && 4 <= d);
  EXPECT_TRUE(d > 3 && 5 > d && d >= 4 && 4 >= d);
  EXPECT_FALSE(d == 5 || d < 4 || d > 4 || d != 4);
  EXPECT_TRUE(d == std::size_t{4} && d < std::uint8_t{5});
  EXPECT_TRUE(Dim(-1) < 0 && Dim(kMin) < Dim(kMax));
}

TEST(Dim, PrintsAsItsNumber) {
  EXPECT_EQ(to_string(Dim(-12)), "-12");
  EXPECT_EQ(to_string(Dims({2, 3, 4})), "[2, 3, 4]");
  EXPECT_EQ(to_string(Dims()), "[]");
  std::ostringstream out;
  out << Dim(7);
  EXPECT_EQ(out.str(), "7");
}

TEST(SymbolicDim, IsToldApartFromEveryPlainNumber) {
  EXPECT_TRUE(Dim::from_symbol(0).is_symbolic());
  EXPECT_TRUE(Dim::from_symbol(UINT32_MAX).is_symbolic());
  EXPECT_EQ(Dim::from_symbol(UINT32_MAX).symbol(), UINT32_MAX);
  EXPECT_FALSE(Dim(0).is_symbolic());
}

TEST(SymbolicDim, UsedOutsideItsCaptureGivesACaptureError) {
  const Dim s = Dim::from_symbol(3);
  EXPECT_THROW(static_cast<void>(s + 1), CaptureError);
  EXPECT_THROW(static_cast<void>(1 - s), CaptureError);
  EXPECT_THROW(static_cast<void>(s * s), CaptureError);
  EXPECT_THROW(static_cast<void>(s / 2), CaptureError);
  EXPECT_THROW(static_cast<void>(s % 2), CaptureError);
  EXPECT_THROW(static_cast<void>(s == 3), CaptureError);
  EXPECT_THROW(static_cast<void>(s < 3), CaptureError);
  EXPECT_THROW(static_cast<void>(s.value()), CaptureError);
  EXPECT_EQ(thrown_by<CaptureError>([&] { s.value(); }).message(),
            "a symbolic size is used outside of the capture that created it; use sizes only inside the "
            "compiled function");
}

TEST(SymbolicDim, ComparesWithItselfAndPrintsWithoutACapture) {
  const Dim s = Dim::from_symbol(3);
  EXPECT_TRUE(s == s);
  EXPECT_TRUE(s <= s);
  EXPECT_FALSE(s < s);
  EXPECT_TRUE(Dim::identical(s, Dim::from_symbol(3)));
  EXPECT_EQ(to_string(s), "s?3");
}

}  // namespace
}  // namespace pel

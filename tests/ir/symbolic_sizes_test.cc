#include "ir/symbolic_sizes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/random.h"

namespace pel {
namespace {

class Symbols : public testing::Test {
 protected:
  std::vector<std::string> guards() const {
    std::vector<std::string> texts;
    for (const SizeGuard& guard : sizes_.guards()) texts.push_back(sizes_.text(guard));
    return texts;
  }
  using Texts = std::vector<std::string>;

  SymbolicSizes sizes_;
  DimContextScope scope_{sizes_};
  const Dim s0 = sizes_.symbol(6), s1 = sizes_.symbol(4);
};

#define EXPECT_IDENTICAL(a, b) \
  EXPECT_TRUE(Dim::identical((a), (b))) << to_string(a) << " and " << to_string(b)

TEST_F(Symbols, AreNumberedInOrder) {
  EXPECT_EQ(to_string(s0), "s0");
  EXPECT_EQ(to_string(s1), "s1");
  EXPECT_TRUE(s0.is_symbolic());
  EXPECT_FALSE(Dim::identical(s0, s1));
}

TEST_F(Symbols, EqualSumsAreOneExpression) {
  EXPECT_IDENTICAL(s0 + s0, 2 * s0);
  EXPECT_EQ(to_string(s0 + s0), "2*s0");
  EXPECT_IDENTICAL(s0 + s1, s1 + s0);
  EXPECT_IDENTICAL(s0 + 1 + s1 + 2, 3 + s1 + s0);
  EXPECT_IDENTICAL(s0 + s1 - s1, s0);
  EXPECT_IDENTICAL(s0 - s0, Dim(0));
  EXPECT_IDENTICAL(s0 + 3 - s0, Dim(3));
  EXPECT_IDENTICAL(-(-s0), s0);
  EXPECT_IDENTICAL(s0 + 0, s0);
}

TEST_F(Symbols, EqualProductsAreOneExpression) {
  EXPECT_IDENTICAL(s0 * s1, s1 * s0);
  EXPECT_IDENTICAL((s0 * s1) * 4, s0 * (4 * s1));
  EXPECT_IDENTICAL(s0 * 1, s0);
  EXPECT_IDENTICAL(s0 * 0, Dim(0));
  EXPECT_IDENTICAL((s0 + 1) * (s0 - 1), s0 * s0 - 1);
  EXPECT_IDENTICAL((s0 + s1) * 2, 2 * s1 + 2 * s0);
  EXPECT_EQ(to_string(s0 * s1 * 4), "4*s0*s1");
}

TEST_F(Symbols, ExactDivisionLeavesNoQuotient) {
  EXPECT_IDENTICAL((4 * s0) / 2, 2 * s0);
  EXPECT_IDENTICAL((4 * s0 * s1) / (2 * s1), 2 * s0);
  EXPECT_IDENTICAL((4 * s0 + 8) / 4, s0 + 2);
  EXPECT_IDENTICAL((s0 * s0) / s0, s0);
  EXPECT_IDENTICAL((4 * s0) % 4, Dim(0));
  EXPECT_IDENTICAL((s0 * s1) % s1, Dim(0));
  EXPECT_IDENTICAL(s0 / 1, s0);
  EXPECT_IDENTICAL(s0 % 1, Dim(0));
  EXPECT_IDENTICAL((4 * s0) / -2, -2 * s0);
  EXPECT_TRUE(guards().empty());
}

TEST_F(Symbols, OtherQuotientsAndRemaindersAreInternedAsAtoms) {
  EXPECT_IDENTICAL(s0 / 4, s0 / 4);
  EXPECT_EQ(to_string(s0 / 4), "(s0 // 4)");
  EXPECT_EQ(to_string(s0 % 4), "(s0 % 4)");
  EXPECT_FALSE(Dim::identical(s0 / 4, s0 / 5));
  EXPECT_IDENTICAL((s0 + s0) / 3, (2 * s0) / 3);
  EXPECT_IDENTICAL(s0 / 4 + s0 / 4, 2 * (s0 / 4));
  EXPECT_EQ(sizes_.evaluate((s0 + 3) / 4, {6, 4}), 2);
}

TEST_F(Symbols, TheTextOfAQuotientBracketsASum) {
  EXPECT_EQ(to_string((s0 + 3) / 4 * 4), "4*((3 + s0) // 4)");
  EXPECT_EQ(to_string(s0 / (s1 + 3)), "(s0 // (3 + s1))");
}

TEST_F(Symbols, EvaluateTakesOtherValues) {
  const Dim area = s0 * s1 + 2;
  EXPECT_EQ(sizes_.evaluate(area, {6, 4}), 26);
  EXPECT_EQ(sizes_.evaluate(area, {10, 3}), 32);
  EXPECT_EQ(sizes_.evaluate((s0 - 7) / 2, {4, 0}), -2);
  EXPECT_EQ(sizes_.evaluate((s0 - 7) % 2, {4, 0}), 1);
  EXPECT_EQ(sizes_.evaluate((s0 / 2) % 3, {11, 0}), 2);
  EXPECT_EQ(sizes_.evaluate(Dim(5), {}), 5);
  EXPECT_TRUE(guards().empty());
}

TEST_F(Symbols, DivisionByAPlainZeroIsAValueError) {
  EXPECT_THROW(static_cast<void>(s0 / 0), ValueError);
  EXPECT_THROW(static_cast<void>(s0 % 0), ValueError);
}

TEST_F(Symbols, OverflowOfACoefficientIsAValueErrorAsForIntegers) {
  EXPECT_THROW(static_cast<void>(s0 * (std::int64_t{1} << 61)), ValueError);  // s0 is 6 here
  const Dim large = sizes_.symbol(1) * (std::int64_t{1} << 61);
  EXPECT_THROW(static_cast<void>(large * 8), ValueError);
  EXPECT_THROW(static_cast<void>(large + large + large + large + large), ValueError);
}

TEST_F(Symbols, AGuardHasTheRelationAndItsSourceLocation) {
  const unsigned line = Site::current().line() + 1;
  EXPECT_TRUE(s0 == 6);
  ASSERT_EQ(guards(), Texts{"s0 == 6"});
  EXPECT_EQ(sizes_.guards()[0].site.line(), line);
  EXPECT_EQ(test::file_of(sizes_.guards()[0].site), "symbolic_sizes_test.cc");
}

TEST_F(Symbols, ARelationThatDoesNotHoldIsGuardedByItsOpposite) {
  EXPECT_FALSE(s0 == 5);
  EXPECT_TRUE(s0 != 7);
  EXPECT_FALSE(s0 < 3);
  EXPECT_FALSE(s0 <= 3);
  EXPECT_TRUE(s0 > s1);
  EXPECT_FALSE(s1 >= s0);
  EXPECT_EQ(guards(), (Texts{"s0 != 5", "s0 != 7", "3 <= s0", "3 < s0", "s1 < s0"}));
}

TEST_F(Symbols, AllComparisonsRecordTheirSourceLocation) {
  const unsigned line = Site::current().line();
  static_cast<void>(s0 == 6);
  static_cast<void>(7 != s0);
  static_cast<void>(s0 < 8);
  static_cast<void>(s0 > 1);
  static_cast<void>(2 >= s0);
  static_cast<void>(s0.value());
  ASSERT_EQ(sizes_.guards().size(), 5u);  // value() adds s0 == 6 again
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(sizes_.guards()[i].site.line(), line + 1 + i) << i;
}

TEST_F(Symbols, AGuardIsRecordedOnce) {
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(s0 < 100);
    static_cast<void>(s0 == s1);
    static_cast<void>(s0 != s1);
  }
  EXPECT_EQ(guards(), (Texts{"s0 < 100", "s0 != s1"}));
}

TEST_F(Symbols, ASwappedEquationIsTheSameGuard) {
  static_cast<void>(s0 == 6);
  static_cast<void>(6 == s0);
  static_cast<void>(s0 != s1);
  static_cast<void>(s1 != s0);
  EXPECT_EQ(guards(), (Texts{"s0 == 6", "s0 != s1"}));
}

TEST_F(Symbols, ARelationThatHoldsForAllSizesNeedsNoGuard) {
  EXPECT_TRUE(s0 == s0);
  EXPECT_TRUE(s0 + s0 == 2 * s0);
  EXPECT_TRUE(s0 < s0 + 1);
  EXPECT_FALSE(s0 == s0 + 1);
  EXPECT_TRUE(s0 * s1 >= s1 * s0);
  EXPECT_TRUE((4 * s0) / 2 == 2 * s0);
  EXPECT_TRUE(guards().empty());
}

TEST_F(Symbols, ValuePinsTheSizeWithAGuard) {
  const unsigned line = Site::current().line() + 1;
  EXPECT_EQ((s0 + 1).value(), 7);
  ASSERT_EQ(guards(), Texts{"1 + s0 == 7"});
  EXPECT_EQ(sizes_.guards()[0].site.line(), line);
}

TEST_F(Symbols, ScopesNestAndEndWithTheirBlock) {
  {
    SymbolicSizes inner;
    const DimContextScope scope(inner);
    const Dim own = inner.symbol(9);
    EXPECT_EQ(own.value(), 9);
    EXPECT_EQ(inner.guards().size(), 1u);
  }
  EXPECT_TRUE(guards().empty());
  EXPECT_EQ(to_string(s0 * 2), "2*s0");
}

// Compares random expressions of the two symbols with their values for other sizes.
TEST_F(Symbols, RandomExpressionsEvaluateAsIntegersDo) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  for (int round = 0; round < test::Random::share_of(2000); ++round) {
    const std::int64_t x = random.between(1, 50), y = random.between(1, 50);
    std::vector<std::pair<Dim, Dim>> known = {{s0, x}, {s1, y}, {2, 2}, {7, 7}, {-3, -3}};
    for (int step = 0; step < 6; ++step) {
      const auto& [a, a_value] =
          known[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(known.size()) - 1))];
      const auto& [b, b_value] =
          known[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(known.size()) - 1))];
      std::pair<Dim, Dim> next;
      switch (random.between(0, 4)) {
        case 0:
          next = {a + b, a_value + b_value};
          break;
        case 1:
          next = {a - b, a_value - b_value};
          break;
        case 2:
          next = {a * 3, a_value * 3};
          break;
        case 3:
          next = {a / 3, a_value / 3};
          break;
        default:
          next = {a % 5, a_value % 5};
      }
      known.push_back(next);
      ASSERT_EQ(sizes_.evaluate(next.first, {x, y}), next.second.value()) << to_string(next.first);
    }
  }
  EXPECT_TRUE(guards().empty());
}

}  // namespace
}  // namespace pel

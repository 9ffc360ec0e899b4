// Expressions of sizes as bytes.
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "ir/symbolic_sizes.h"

namespace pel {
namespace {

TEST(Checksum, IsXxh64) {
  EXPECT_EQ(checksum(""), 0xef46db3751d8e999u);
  EXPECT_EQ(checksum("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(checksum("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(SavedSizes, AreTheSameExpressions) {
  SymbolicSizes sizes;
  const DimContextScope scope(sizes);
  const Dim a = sizes.symbol(6), b = sizes.symbol(4), c = sizes.symbol(-2, 16, SymbolicSizes::Sign::Any);
  const std::vector<Dim> made = {a, a * b + 3, (a + b) / 3, a % b, (a / b) * (c - 1) + a * a, 2 * a - b, 7};
  const auto again = SymbolicSizes::from_expressions(sizes.expressions());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->hints(), sizes.hints());
  for (const Dim dim : made) {
    if (dim.is_symbolic()) {
      EXPECT_EQ(again->text(dim), sizes.text(dim));
    }
    EXPECT_EQ(again->evaluate(dim, {9, 5, -3}), sizes.evaluate(dim, {9, 5, -3}));
    EXPECT_EQ(again->generic(dim), sizes.generic(dim));
  }
  EXPECT_TRUE(
      Dim::identical(again->combine(detail::DimOp::Mul, a, b), sizes.combine(detail::DimOp::Mul, a, b)));
  EXPECT_EQ(again->expressions(), sizes.expressions());
}

TEST(SavedSizes, AreRefusedIfTheyAreNotValid) {
  SymbolicSizes sizes;
  const DimContextScope scope(sizes);
  const Dim a = sizes.symbol(6), b = sizes.symbol(4);
  const Dim used = (a * b + 3) / (a % b + 1);
  ASSERT_TRUE(used.is_symbolic());
  const std::string bytes = sizes.expressions();
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    const auto cut = SymbolicSizes::from_expressions(std::string_view(bytes).substr(0, length));
    EXPECT_TRUE(cut == nullptr || !cut->has(used)) << length;  // whole expressions are left
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto read = SymbolicSizes::from_expressions(damaged);
      EXPECT_TRUE(read == nullptr || !read->has(used) || !read->text(used).empty());
    }
  }
}

}  // namespace
}  // namespace pel

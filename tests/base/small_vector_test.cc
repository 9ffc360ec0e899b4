#include "base/small_vector.h"

#include <vector>

#include <gtest/gtest.h>

#include "pellucid/dim.h"

#include "support/random.h"

namespace pel {
namespace {

using Vector = SmallVector<int, 4>;

std::vector<int> contents(const Vector& v) { return {v.begin(), v.end()}; }
bool is_inline(const Vector& v) {
  const auto* object = reinterpret_cast<const char*>(&v);
  const auto* data = reinterpret_cast<const char*>(v.data());
  return data >= object && data < object + sizeof(v);
}

TEST(SmallVector, StartsEmptyAndInline) {
  const Vector v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.size(), 0u);
  EXPECT_TRUE(is_inline(v));
}

TEST(SmallVector, SizedOneHoldsZeros) {
  const Vector v(std::size_t{6});
  EXPECT_EQ(contents(v), std::vector<int>(6, 0));
}

TEST(SmallVector, StaysInlineUpToItsCapacityAndThenMovesToTheHeap) {
  Vector v;
  for (int i = 0; i < 4; ++i) v.push_back(i);
  EXPECT_TRUE(is_inline(v));
  v.push_back(4);
  EXPECT_FALSE(is_inline(v));
  EXPECT_EQ(contents(v), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SmallVector, KeepsItsElementsThroughManyGrowths) {
  Vector v;
  for (int i = 0; i < 1000; ++i) v.push_back(i);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(v[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(v.back(), 999);
}

TEST(SmallVector, APushedElementMayBeOneOfItsOwn) {
  Vector v{7, 1, 2, 3};
  v.push_back(v[0]);
  EXPECT_EQ(v.back(), 7);
}

TEST(SmallVector, InsertsAtTheFrontInTheMiddleAndAtTheEnd) {
  Vector v{1, 2, 3};
  v.insert(0, 10);
  v.insert(2, 20);
  v.insert(5, 30);
  EXPECT_EQ(contents(v), (std::vector<int>{10, 1, 20, 2, 3, 30}));
}

TEST(SmallVector, ErasesTheFirstAndTheLast) {
  Vector v{1, 2, 3, 4, 5};
  v.erase(0);
  v.erase(3);
  EXPECT_EQ(contents(v), (std::vector<int>{2, 3, 4}));
  v.erase(1);
  EXPECT_EQ(contents(v), (std::vector<int>{2, 4}));
}

TEST(SmallVector, CopiesAreIndependent) {
  for (std::size_t size : {3u, 9u}) {
    Vector a(size);
    Vector b = a;
    b[0] = 5;
    EXPECT_EQ(a[0], 0);
    EXPECT_EQ(b[0], 5);
    EXPECT_NE(a.data(), b.data());
  }
}

TEST(SmallVector, AssignsBetweenInlineAndHeap) {
  const Vector few{1, 2}, many{1, 2, 3, 4, 5, 6, 7};
  Vector v = few;
  v = many;
  EXPECT_EQ(contents(v), contents(many));
  v = few;
  EXPECT_EQ(contents(v), contents(few));
  v = *&v;
  EXPECT_EQ(contents(v), contents(few));
}

TEST(SmallVector, AMovedOrReturnedOneKeepsItsElements) {
  const auto make = [](std::size_t n) {
    Vector v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<int>(i);
    return v;
  };
  Vector short_one = std::move(make(3)), long_one = std::move(make(10));
  EXPECT_EQ(contents(short_one), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(long_one[9], 9);
}

TEST(SmallVector, ClearKeepsTheCapacityAndTheViewSeesTheElements) {
  Vector v{1, 2, 3, 4, 5};
  const int* before = v.data();
  v.clear();
  EXPECT_TRUE(v.empty());
  v.push_back(9);
  EXPECT_EQ(v.data(), before);
  const ArrayView<int> view = v;
  EXPECT_EQ(view.size(), 1u);
  EXPECT_EQ(view[0], 9);
}

TEST(SmallVector, OfDimsStartsAtZero) {
  const SmallVector<Dim, 2> dims(std::size_t{5});
  for (Dim d : dims) EXPECT_EQ(d, 0);
}

TEST(SmallVector, DoesWhatAVectorDoesUnderRandomEdits) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  for (int round = 0; round < test::Random::share_of(200); ++round) {
    Vector v;
    std::vector<int> expected;
    for (int step = 0; step < 40; ++step) {
      const int value = static_cast<int>(random.between(0, 99));
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(expected.size())));
      if (random.one_in(3) && at < expected.size()) {
        v.erase(at);
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        v.insert(at, value);
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), value);
      }
    }
    ASSERT_EQ(contents(v), expected);
  }
}

}  // namespace
}  // namespace pel

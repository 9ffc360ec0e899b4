// Shape rules on symbolic sizes: the result, and the guards that the op added.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "ir/symbolic_sizes.h"

namespace pel {
namespace {

class SymbolicIndexing : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  Texts guards() const {
    Texts texts;
    for (const SizeGuard& guard : sizes_.guards()) texts.push_back(sizes_.text(guard));
    return texts;
  }
  SymbolicSizes sizes_;
  DimContextScope scope_{sizes_};
  const Dim s0 = sizes_.symbol(6), s1 = sizes_.symbol(5);
  const Tensor x_ = empty({s0, 4});
};

TEST_F(SymbolicIndexing, EqualSizesAddNoGuard) {
  const Tensor ids = empty({s1}, kI64), wide = empty({s0, 4}, kI64);
  EXPECT_EQ(to_string(cat({x_, x_}).sizes()), "[2*s0, 4]");
  EXPECT_EQ(to_string(stack({x_, x_}).sizes()), "[2, s0, 4]");
  EXPECT_EQ(to_string(embedding(x_, ids).sizes()), "[s1, 4]");
  EXPECT_EQ(to_string(index_select(x_, 0, ids).sizes()), "[s1, 4]");
  EXPECT_EQ(to_string(index(x_, {ids}).sizes()), "[s1, 4]");
  EXPECT_EQ(to_string(index_put(x_, {ids}, empty({s1, 4})).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(gather(x_, 1, wide).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(scatter_add(x_, 1, wide, x_).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(repeat(x_, {2, s1}).sizes()), "[2*s0, 4*s1]");
  EXPECT_EQ(to_string(repeat_interleave(x_, 3, 0).sizes()), "[3*s0, 4]");
  EXPECT_EQ(to_string(roll(flip(x_, {0}), {1, 1}, {0, 1}).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(tril(x_).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(pad(x_, {1, 2, 3, 0}).sizes()), "[3 + s0, 7]");
  EXPECT_EQ(to_string(one_hot(ids, 3).sizes()), "[s1, 3]");
  EXPECT_EQ(guards(), Texts{});
}

TEST_F(SymbolicIndexing, DifferentSizesGuardThatTheyFit) {
  EXPECT_EQ(to_string(cat({x_, empty({3, s1 - 1})}).sizes()), "[3 + s0, 4]");
  EXPECT_EQ(guards().size(), 1u);
}

TEST_F(SymbolicIndexing, SizesThatDependOnValuesAreRefused) {
  EXPECT_THROW(nonzero(x_), DeviceError);
  EXPECT_THROW(masked_select(x_, empty({s0, 4}, kBool)), DeviceError);
}

}  // namespace
}  // namespace pel

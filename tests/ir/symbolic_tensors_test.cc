// Shape rules on symbolic sizes: the result, and the guards that the op added.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"
#include "pellucid/ops.h"
#include "pellucid/profile.h"

#include "ir/symbolic_sizes.h"

namespace pel {
namespace {

class SymbolicTensor : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  Texts guards() const {
    Texts texts;
    for (const SizeGuard& guard : sizes_.guards()) texts.push_back(sizes_.text(guard));
    return texts;
  }
  SymbolicSizes sizes_;
  DimContextScope scope_{sizes_};
  const Dim s0 = sizes_.symbol(6), s1 = sizes_.symbol(6);
  const Tensor x_ = empty({s0, 4});
};

#define EXPECT_NO_GUARDS() EXPECT_EQ(guards(), Texts{})

TEST_F(SymbolicTensor, HasSizesStridesAndNoData) {
  EXPECT_EQ(to_string(x_.sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(x_.strides()), "[4, 1]");
  EXPECT_EQ(to_string(empty({4, s0}).strides()), "[s0, 1]");
  EXPECT_EQ(to_string(empty({2, s0, s1}).strides()), "[s0*s1, s1, 1]");
  EXPECT_FALSE(x_.has_data());
  EXPECT_EQ(to_string(x_.numel()), "4*s0");
  EXPECT_TRUE(x_.is_contiguous());
  EXPECT_EQ(to_string(x_), "tensor(no data, f32[s0, 4])");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ViewAsOneAxisIsTheProduct) {
  const Tensor flat = x_.view({-1});
  EXPECT_TRUE(Dim::identical(flat.size(0), 4 * s0));
  EXPECT_EQ(sizes_.evaluate(flat.size(0), {25, 0}), 100);
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ViewWithTheSizeWrittenOutAddsNoGuard) {
  EXPECT_EQ(to_string(x_.view({s0 * 4}).sizes()), "[4*s0]");
  EXPECT_EQ(to_string(x_.view({s0, 2, 2}).strides()), "[4, 2, 1]");
  EXPECT_EQ(to_string(x_.view({2, -1}).sizes()), "[2, 2*s0]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ViewWithAnotherSizeGuardsThatItFits) {
  EXPECT_EQ(to_string(x_.view({24}).sizes()), "[24]");
  EXPECT_EQ(guards(), Texts{"24 == 4*s0"});
  EXPECT_THROW(x_.view({25}), ShapeError);
}

TEST_F(SymbolicTensor, TransposeAndPermuteAddNoGuard) {
  EXPECT_EQ(to_string(x_.t().sizes()), "[4, s0]");
  EXPECT_EQ(to_string(x_.transpose(0, 1).strides()), "[1, 4]");
  EXPECT_EQ(to_string(empty({s0, 2, s1}).permute({2, 0, 1}).sizes()), "[s1, s0, 2]");
  EXPECT_EQ(to_string(empty({s0, 2, s1}).movedim({2}, {0}).sizes()), "[s1, s0, 2]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, UnsqueezeAddsNoGuard) {
  EXPECT_EQ(to_string(x_.unsqueeze(0).sizes()), "[1, s0, 4]");
  EXPECT_EQ(to_string(x_.unsqueeze(-1).strides()), "[4, 1, 1]");
  EXPECT_EQ(to_string(x_[kNewAxis].sizes()), "[1, s0, 4]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ExpandingALiteralOneAddsNoGuard) {
  const Tensor wide = empty({1, 4}).expand({s0, 4});
  EXPECT_EQ(to_string(wide.sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(wide.strides()), "[0, 1]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ExpandingByANewAxisOrKeepingOneAddsNoGuard) {
  EXPECT_EQ(to_string(x_.expand({s1, s0, 4}).sizes()), "[s1, s0, 4]");
  EXPECT_EQ(to_string(x_.expand({2, -1, 4}).sizes()), "[2, s0, 4]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ExpandingOneSizeToAnotherGuardsThatTheyAreEqual) {
  EXPECT_EQ(to_string(x_.expand({s1, 4}).strides()), "[4, 1]");
  EXPECT_EQ(guards(), Texts{"s0 == s1"});
}

TEST_F(SymbolicTensor, FlattenAddsNoGuard) {
  EXPECT_EQ(to_string(x_.flatten().sizes()), "[4*s0]");
  EXPECT_EQ(to_string(empty({s0, s1, 2}).flatten(0, 1).sizes()), "[s0*s1, 2]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ContiguousOfARowMajorTensorAddsNoGuard) {
  EXPECT_TRUE(x_.contiguous().is_same(x_));
  EXPECT_TRUE(empty({s0, s1, 3}).contiguous().is_contiguous());
  const Tensor reshaped = x_.view({s0, 2, 2});
  EXPECT_TRUE(reshaped.contiguous().is_same(reshaped));
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, SelectGuardsThatTheIndexIsInside) {
  EXPECT_EQ(to_string(x_.select(0, 1).sizes()), "[4]");
  EXPECT_EQ(guards(), Texts{"1 < s0"});
}

TEST_F(SymbolicTensor, SelectFromTheEndAddsOneGuard) {
  EXPECT_EQ(to_string(x_.select(0, -1).storage_offset()), "-4 + 4*s0");
  EXPECT_EQ(guards().size(), 1u) << testing::PrintToString(guards());
}

TEST_F(SymbolicTensor, SelectOfALiteralAxisAddsNoGuard) {
  EXPECT_EQ(to_string(x_.select(1, 3).sizes()), "[s0]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, SliceWithOnlyDefaultsAddsNoGuard) {
  EXPECT_EQ(to_string(x_.slice(0).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(x_[Slice()].sizes()), "[s0, 4]");
  EXPECT_EQ(sizes_.evaluate(x_.slice(0, std::nullopt, std::nullopt, 2).size(0), {7, 0}), 4);
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, SliceFromZeroIsThatWithoutAStart) {
  EXPECT_EQ(to_string(x_.slice(0, 0).sizes()), "[s0, 4]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, SliceWithABoundGuardsTheBound) {
  EXPECT_EQ(to_string(x_.slice(0, 2).sizes()), "[-2 + s0, 4]");
  EXPECT_EQ(guards(), Texts{"2 <= s0"});
}

TEST_F(SymbolicTensor, NarrowFromZeroAddsOneGuard) {
  EXPECT_EQ(to_string(x_.narrow(0, 0, 2).sizes()), "[2, 4]");
  EXPECT_EQ(guards(), Texts{"2 <= s0"});
}

TEST_F(SymbolicTensor, SliceAndSplitOfALiteralAxisAddNoGuard) {
  EXPECT_EQ(to_string(x_.slice(1, 1, 3).sizes()), "[s0, 2]");
  EXPECT_EQ(to_string(x_.narrow(1, 1, 2).sizes()), "[s0, 2]");
  EXPECT_EQ(x_.split(2, 1).size(), 2u);
  EXPECT_EQ(x_.chunk(2, 1).size(), 2u);
  EXPECT_EQ(x_.unbind(1).size(), 4u);
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, SqueezeOfALiteralAxisGuardsOnlyTheNamedAxes) {
  EXPECT_EQ(to_string(empty({s0, 1}).squeeze({1}).sizes()), "[s0]");
  EXPECT_NO_GUARDS();
  EXPECT_EQ(to_string(x_.squeeze().sizes()), "[s0, 4]");
  EXPECT_EQ(guards(), Texts{"s0 != 1"});
}

TEST_F(SymbolicTensor, UnflattenWithAnOpenSizeAddsNoGuardIfItDivides) {
  const Tensor flat = x_.view({-1});
  EXPECT_EQ(to_string(flat.unflatten(0, {-1, 4}).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(flat.unflatten(0, {s0, 4}).sizes()), "[s0, 4]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, CreationCloneCastAndWritesAddNoGuardAndLaunchNothing) {
  const std::uint64_t launches = launch_count();
  EXPECT_EQ(to_string(x_.clone().sizes()), "[s0, 4]");
  EXPECT_EQ(x_.to(kF16).dtype(), kF16);
  zeros({s0, 2}).fill_(3);
  x_.copy_(empty({s0, 4}));
  x_.copy_(ones({4}));
  EXPECT_EQ(to_string(zeros_like(x_).sizes()), "[s0, 4]");
  EXPECT_EQ(to_string(eye(s0).sizes()), "[s0, s0]");
  EXPECT_EQ(launch_count(), launches + 1);  // of ones({4})
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, AsStridedWithItsOwnLayoutAddsNoGuard) {
  EXPECT_EQ(to_string(x_.as_strided({s0, 4}, {4, 1}).sizes()), "[s0, 4]");
  EXPECT_NO_GUARDS();
}

TEST_F(SymbolicTensor, ItemPinsNothingButFailsWithoutData) {
  EXPECT_THROW(x_.select(0, 0).select(0, 0).item(), DeviceError);
}

TEST_F(SymbolicTensor, UnbindPinsTheSize) {
  EXPECT_EQ(x_.unbind(0).size(), 6u);
  EXPECT_EQ(guards(), Texts{"s0 == 6"});
}

// Without elements the product is the number 0, though a size is an expression.
TEST_F(SymbolicTensor, WithAnEmptyAxisIsWrittenWithoutReadingSymbolicSizes) {
  const Tensor none = empty({0, s0}).transpose(0, 1);
  EXPECT_NO_THROW(none.fill_(1));
  EXPECT_NO_THROW(none.copy_(none.clone()));
  EXPECT_EQ(to_string(empty({s0, 0}).sizes()), "[s0, 0]");
}

}  // namespace
}  // namespace pel

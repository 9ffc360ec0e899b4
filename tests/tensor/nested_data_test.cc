// tensor({...}) and item().
#include <limits>

#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/ops.h"
#include "pellucid/tensor.h"

#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

TEST(NestedData, TheNumbersDecideTheDtype) {
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({1, 2}).dtype(), kI64);
  EXPECT_EQ(tensor({true, 2}).dtype(), kI64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), kF32);
  EXPECT_EQ(tensor({{1, 2}, {3, 4.0f}}).dtype(), kF32);
  EXPECT_EQ(tensor(3).dtype(), kI64);
  EXPECT_EQ(tensor({1, 2}, kF16).dtype(), kF16);
  EXPECT_EQ(tensor({{}}).dtype(), kF32);
}

TEST(NestedData, TheBracesDecideTheSizes) {
  EXPECT_EQ(to_string(tensor(3).sizes()), "[]");
  EXPECT_EQ(to_string(tensor({3}).sizes()), "[1]");
  EXPECT_EQ(to_string(tensor({{1, 2, 3}, {4, 5, 6}}).sizes()), "[2, 3]");
  EXPECT_EQ(to_string(tensor({{{1}, {2}}}).sizes()), "[1, 2, 1]");
  EXPECT_EQ(to_string(tensor({{}, {}}).sizes()), "[2, 0]");
}

TEST(NestedData, ValuesStandInRowMajorOrder) {
  const Tensor t = tensor({{1, 2, 3}, {4, 5, 6}}, kI16);
  for (std::int16_t i = 0; i < 6; ++i) EXPECT_EQ(t.data<std::int16_t>()[i], i + 1);
}

TEST(NestedData, RaggedListsAreRefusedWithTheirLengths) {
  EXPECT_EQ(thrown_by<ShapeError>([] { tensor({{1, 2}, {3}}); }).message(),
            "the lists are ragged: one has 1 items where the first has 2");
  EXPECT_THROW(tensor({{1}, {2, 3}}), ShapeError);
  EXPECT_THROW(tensor({1, {2}}), ShapeError);
  EXPECT_THROW(tensor({{1}, 2}), ShapeError);
  EXPECT_THROW(tensor({{}, {1}}), ShapeError);
  EXPECT_THROW(tensor({{{1, 2}, {3, 4}}, {{1, 2}, {3}}}), ShapeError);
}

TEST(NestedData, ARefusedListLosesNoMemory) {
  const MemoryStats before = memory_stats();
  EXPECT_THROW(tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_EQ(memory_stats().small_blocks, before.small_blocks);
}

TEST(NestedData, NumbersThatTheDtypeCannotHoldAreRefused) {
  EXPECT_EQ(thrown_by<ValueError>([] { tensor({300}, kU8); }).message(), "300 does not fit into u8");
  EXPECT_THROW(tensor({1e6}, kF16), ValueError);
  EXPECT_THROW(tensor({std::numeric_limits<double>::quiet_NaN()}, kI32), ValueError);
  EXPECT_EQ(tensor({127.9}, kI8)[0].item().to_int(), 127);
  EXPECT_EQ(tensor({-1}, kU8)[0].item().to_int(), 255);
}

template <class T>
void expect_round_trip(DType dtype, T value) {
  const Scalar back = full({}, value, dtype).item();
  EXPECT_EQ(back.to_double(), static_cast<double>(value)) << name(dtype);
}

TEST(Item, ReadsEveryDtype) {
  for (const DType dtype : {kF64, kF32, kF16, kBF16}) expect_round_trip(dtype, -1.5);
  for (const DType dtype : {kI64, kI32, kI16, kI8}) expect_round_trip(dtype, -7);
  expect_round_trip(kU8, 200);
  expect_round_trip(kBool, true);
  EXPECT_EQ(full({}, INT64_MIN, kI64).item().to_int(), INT64_MIN);
}

TEST(Item, KeepsTheKind) {
  EXPECT_EQ(tensor(1.0).item().kind(), Scalar::Kind::Float);
  EXPECT_EQ(tensor({1.0}, kF16).item().kind(), Scalar::Kind::Float);
  EXPECT_EQ(tensor(1).item().kind(), Scalar::Kind::Int);
  EXPECT_EQ(tensor({1}, kU8).item().kind(), Scalar::Kind::Int);
  EXPECT_EQ(tensor(true).item().kind(), Scalar::Kind::Bool);
}

TEST(Item, TakesOneElementOfAnyRankAndNoMore) {
  EXPECT_EQ(ones({1, 1, 1}).item().to_double(), 1);
  EXPECT_EQ(arange(5)[{Slice(3, 4)}].item().to_int(), 3);
  EXPECT_EQ(thrown_by<ValueError>([] { ones({2}).item(); }).message(),
            "a tensor with one element is expected, not f32[2]");
}

TEST(Scalar, ConvertsTowardsZeroAndSaturates) {
  EXPECT_EQ(Scalar(-2.9).to_int(), -2);
  EXPECT_EQ(Scalar(1e30).to_int(), INT64_MAX);
  EXPECT_EQ(Scalar(std::numeric_limits<double>::quiet_NaN()).to_int(), 0);
  EXPECT_TRUE(Scalar(0.5).to_bool());
  EXPECT_FALSE(Scalar(0).to_bool());
  EXPECT_EQ(Scalar(Dim(4)).to_int(), 4);
}

}  // namespace
}  // namespace pel

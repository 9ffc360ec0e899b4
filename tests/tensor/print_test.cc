// Golden texts of printed tensors.
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/tensor.h"

namespace pel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Print, IntegersAlignToTheRight) {
  EXPECT_EQ(to_string(tensor({1, 2, 3})), "tensor([1, 2, 3], i64[3])");
  EXPECT_EQ(to_string(tensor({{1, -20}, {300, 4}})),
            "tensor([[  1, -20],\n"
            "        [300,   4]], i64[2, 2])");
}

TEST(Print, WholeFloatsEndInAPoint) {
  EXPECT_EQ(to_string(tensor({1.0, -2.0, 30.0})), "tensor([ 1., -2., 30.], f32[3])");
}

TEST(Print, FractionsHaveFourDigits) {
  EXPECT_EQ(to_string(tensor({1.5, -2.25, 3.14159265})), "tensor([ 1.5000, -2.2500,  3.1416], f32[3])");
}

TEST(Print, VerySmallAndVeryLargeNumbersAreScientific) {
  EXPECT_EQ(to_string(tensor({1e-6, 1.0})), "tensor([1.0000e-06, 1.0000e+00], f32[2])");
  EXPECT_EQ(to_string(tensor({1e10, -1.0})), "tensor([ 1.0000e+10, -1.0000e+00], f32[2])");
  EXPECT_EQ(to_string(tensor({0.5, 5000.0})), "tensor([5.0000e-01, 5.0000e+03], f32[2])");
  EXPECT_EQ(to_string(tensor({0.0, 0.25})), "tensor([0.0000, 0.2500], f32[2])");
}

TEST(Print, NanAndInfinityDoNotChangeTheOtherNumbers) {
  EXPECT_EQ(to_string(tensor({std::nan(""), kInfinity, -kInfinity, 1.0})),
            "tensor([ nan,  inf, -inf,   1.], f32[4])");
  EXPECT_EQ(to_string(tensor({std::nan(""), 1.5})), "tensor([   nan, 1.5000], f32[2])");
}

TEST(Print, ANegativeNanIsNan) { EXPECT_EQ(to_string(tensor({-std::nan("")})), "tensor([nan], f32[1])"); }

TEST(Print, Bools) { EXPECT_EQ(to_string(tensor({true, false})), "tensor([ true, false], bool[2])"); }

TEST(Print, AxislessTensorsAreBareNumbers) {
  EXPECT_EQ(to_string(tensor(7)), "tensor(7, i64[])");
  EXPECT_EQ(to_string(tensor(2.5)), "tensor(2.5000, f32[])");
  EXPECT_EQ(to_string(tensor(true)), "tensor(true, bool[])");
}

TEST(Print, EmptyTensorsKeepTheirSizes) {
  EXPECT_EQ(to_string(zeros({0})), "tensor([], f32[0])");
  EXPECT_EQ(to_string(zeros({0, 3}, kI8)), "tensor([], i8[0, 3])");
}

TEST(Print, Halves) {
  EXPECT_EQ(to_string(tensor({1.0, 0.1}, kF16)), "tensor([1.0000, 0.1000], f16[2])");
  EXPECT_EQ(to_string(tensor({1.0, 2.0}, kBF16)), "tensor([1., 2.], bf16[2])");
  EXPECT_EQ(to_string(tensor({65504.0, 0.5}, kF16)), "tensor([6.5504e+04, 5.0000e-01], f16[2])");
}

TEST(Print, SmallIntegersAreNumbersNotCharacters) {
  EXPECT_EQ(to_string(tensor({65, 66}, kI8)), "tensor([65, 66], i8[2])");
  EXPECT_EQ(to_string(tensor({200}, kU8)), "tensor([200], u8[1])");
}

TEST(Print, ExtremeIntegersAreExact) {
  EXPECT_EQ(to_string(tensor({INT64_MAX, INT64_MIN})),
            "tensor([ 9223372036854775807, -9223372036854775808], i64[2])");
}

TEST(Print, LongRowsAreWrapped) {
  PrintOptions narrow;
  narrow.line_width = 20;
  EXPECT_EQ(to_string(arange(10), narrow),
            "tensor([0, 1, 2, 3,\n"
            "        4, 5, 6, 7,\n"
            "        8, 9], i64[10])");
}

TEST(Print, NoLineIsWiderThanAsked) {
  std::istringstream lines(to_string(arange(500)));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 110u) << line;
  EXPECT_GT(count, 10);
}

TEST(Print, AWidthSmallerThanTheIndentPutsOneNumberOnALine) {
  PrintOptions tiny;
  tiny.line_width = 1;
  EXPECT_EQ(to_string(arange(3), tiny),
            "tensor([0,\n"
            "        1,\n"
            "        2], i64[3])");
}

TEST(Print, BlocksOfThreeAxesAreSetApart) {
  EXPECT_EQ(to_string(arange(8).view({2, 2, 2})),
            "tensor([[[0, 1],\n"
            "         [2, 3]],\n"
            "\n"
            "        [[4, 5],\n"
            "         [6, 7]]], i64[2, 2, 2])");
}

TEST(Print, LongVectorsShowTheirEnds) {
  EXPECT_EQ(to_string(arange(1001)), "tensor([   0,    1,    2, ...,  998,  999, 1000], i64[1001])");
  EXPECT_EQ(to_string(zeros({1000})).find("..."), std::string::npos);
}

TEST(Print, SummarisedMatricesShowTheirCorners) {
  EXPECT_EQ(to_string(arange(10'000).view({100, 100})),
            "tensor([[   0,    1,    2, ...,   97,   98,   99],\n"
            "        [ 100,  101,  102, ...,  197,  198,  199],\n"
            "        [ 200,  201,  202, ...,  297,  298,  299],\n"
            "        ...,\n"
            "        [9700, 9701, 9702, ..., 9797, 9798, 9799],\n"
            "        [9800, 9801, 9802, ..., 9897, 9898, 9899],\n"
            "        [9900, 9901, 9902, ..., 9997, 9998, 9999]], i64[100, 100])");
}

TEST(Print, SummarisedCubes) {
  PrintOptions options;
  options.threshold = 10;
  options.edge_items = 1;
  EXPECT_EQ(to_string(arange(36).view({4, 3, 3}), options),
            "tensor([[[ 0, ...,  2],\n"
            "         ...,\n"
            "         [ 6, ...,  8]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[27, ..., 29],\n"
            "         ...,\n"
            "         [33, ..., 35]]], i64[4, 3, 3])");
}

TEST(Print, ASummaryWithoutEdgeItemsReadsNoElement) {
  PrintOptions options;
  options.threshold = 2;
  options.edge_items = 0;
  const std::string text = to_string(arange(4, kU8), options);
  EXPECT_EQ(text, "tensor([...], u8[4])");
}

TEST(Print, PrecisionIsThatOfTheOptions) {
  PrintOptions options;
  options.precision = 2;
  EXPECT_EQ(to_string(tensor({1.234, 10.5}), options), "tensor([ 1.23, 10.50], f32[2])");
}

TEST(Print, ViewsPrintWhatTheyShow) {
  EXPECT_EQ(to_string(arange(6).view({2, 3}).t()),
            "tensor([[0, 3],\n"
            "        [1, 4],\n"
            "        [2, 5]], i64[3, 2])");
  EXPECT_EQ(to_string(tensor({7}).expand({2, 2})),
            "tensor([[7, 7],\n"
            "        [7, 7]], i64[2, 2])");
}

TEST(Print, AHundredMillionExpandedElementsPrintShortAndFast) {
  const auto begin = std::chrono::steady_clock::now();
  for (const Tensor& t : {ones({1}).expand({100'000'000}), ones({1}).expand({10'000, 10'000}),
                          ones({1}).expand({1000, 1000, 100})}) {
    EXPECT_LT(to_string(t).size(), 5000u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST(Print, StreamsWriteTheSameText) {
  std::ostringstream out;
  out << tensor({1, 2});
  EXPECT_EQ(out.str(), "tensor([1, 2], i64[2])");
}

TEST(ScalarText, TellsTheKindsApart) {
  EXPECT_EQ(to_string(Scalar(true)), "true");
  EXPECT_EQ(to_string(Scalar(3)), "3");
  EXPECT_EQ(to_string(Scalar(3.0)), "3.0");
  EXPECT_EQ(to_string(Scalar(0.5)), "0.5");
  EXPECT_EQ(to_string(Scalar(1e300)), "1e+300");
  EXPECT_EQ(to_string(Scalar(kInfinity)), "inf");
}

TEST(Print, AScalarPrintsAsANumber) {
  std::ostringstream out;
  out << Scalar(3) << ' ' << Scalar(0.5) << ' ' << Scalar(true) << ' ' << tensor({2.5}).sum().item();
  EXPECT_EQ(out.str(), "3 0.5 true 2.5");
}

}  // namespace
}  // namespace pel

#include "tensor/convert.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/tensor.h"

namespace pel {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class To, class From>
void expect_saturates() {
  using Limits = std::numeric_limits<To>;
  EXPECT_EQ(convert<To>(From(kInf)), Limits::max());
  EXPECT_EQ(convert<To>(-From(kInf)), Limits::min());
  EXPECT_EQ(convert<To>(From(kNaN)), 0);
  EXPECT_EQ(convert<To>(From(1e30)), Limits::max());
  EXPECT_EQ(convert<To>(From(-1e30)), Limits::min());
  const From above = std::ldexp(From(1), Limits::digits);  // max + 1
  EXPECT_EQ(convert<To>(above), Limits::max());
  const From below = std::nextafter(above, From(0));
  EXPECT_EQ(convert<To>(below), static_cast<To>(below));
  EXPECT_EQ(convert<To>(From(Limits::min())), Limits::min());
  EXPECT_EQ(convert<To>(From(1.99)), 1);
  EXPECT_EQ(convert<To>(From(-0.99)), 0);
}

TEST(Convert, FloatsGoTowardsZeroAndSaturateInEveryInteger) {
  expect_saturates<std::int64_t, float>();
  expect_saturates<std::int64_t, double>();
  expect_saturates<std::int32_t, float>();
  expect_saturates<std::int32_t, double>();
  expect_saturates<std::int16_t, float>();
  expect_saturates<std::int16_t, double>();
  expect_saturates<std::int8_t, float>();
  expect_saturates<std::int8_t, double>();
  expect_saturates<std::uint8_t, float>();
  expect_saturates<std::uint8_t, double>();
}

TEST(Convert, NegativeFloatsSaturateToZeroInU8) {
  EXPECT_EQ(convert<std::uint8_t>(-1.0f), 0);
  EXPECT_EQ(convert<std::uint8_t>(255.9f), 255);
  EXPECT_EQ(convert<std::uint8_t>(256.0f), 255);
}

TEST(Convert, IntegersWrap) {
  EXPECT_EQ(convert<std::int8_t>(std::int64_t{200}), -56);
  EXPECT_EQ(convert<std::uint8_t>(std::int32_t{-1}), 255);
  EXPECT_EQ(convert<std::int32_t>((std::int64_t{1} << 32) + 5), 5);
}

TEST(Convert, ToBoolIsTrueForAllButZero) {
  EXPECT_FALSE(convert<bool>(0.0f));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(kNaN));
  EXPECT_TRUE(convert<bool>(1e-40f));
  EXPECT_TRUE(convert<bool>(std::int64_t{1} << 40));
  EXPECT_TRUE(convert<bool>(Float16(0.5f)));
  EXPECT_FALSE(convert<bool>(BFloat16(0.0f)));
}

TEST(Convert, HalvesGoThroughFloat) {
  EXPECT_EQ(convert<std::int32_t>(Float16(-2.5f)), -2);
  EXPECT_EQ(convert<std::uint8_t>(Float16(kNaN)), 0);
  EXPECT_EQ(convert<std::int8_t>(BFloat16(1000.0f)), 127);
  EXPECT_EQ(convert<Float16>(std::int64_t{100000}).bits, 0x7c00u);
  EXPECT_EQ(convert<Float16>(true).bits, 0x3c00u);
  EXPECT_EQ(static_cast<float>(convert<BFloat16>(Float16(1.5f))), 1.5f);
  EXPECT_EQ(convert<Float16>(1e300).bits, 0x7c00u);
}

TEST(Convert, DoubleToFloatOverflowsToInfinity) {
  EXPECT_EQ(convert<float>(1e300), kInf);
  EXPECT_EQ(convert<float>(-1e300), -kInf);
  EXPECT_TRUE(std::isnan(convert<float>(std::nan(""))));
}

TEST(LoadAs, ReadsAnyNonzeroByteAsTrueAtAnyAddress) {
  const unsigned char bytes[] = {0, 2, 255};
  EXPECT_FALSE(load_as<bool>(bytes));
  EXPECT_TRUE(load_as<bool>(bytes + 1));
  EXPECT_TRUE(load_as<bool>(bytes + 2));
}

DType dtype_at(int i) { return static_cast<DType>(i); }

TEST(PromoteTypes, IsSymmetricIdempotentAndAssociative) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType a = dtype_at(i);
    EXPECT_EQ(promote_types(a, a), a);
    for (int j = 0; j < kDTypeCount; ++j) {
      const DType b = dtype_at(j), both = promote_types(a, b);
      EXPECT_EQ(both, promote_types(b, a));
      EXPECT_EQ(promote_types(a, both), both) << name(a) << " " << name(b);
      EXPECT_TRUE(can_cast(a, both));
      for (int k = 0; k < kDTypeCount; ++k) {
        const DType c = dtype_at(k);
        EXPECT_EQ(promote_types(both, c), promote_types(a, promote_types(b, c)))
            << name(a) << " " << name(b) << " " << name(c);
      }
    }
  }
}

TEST(PromoteTypes, KnownPairs) {
  EXPECT_EQ(promote_types(kU8, kI8), kI16);
  EXPECT_EQ(promote_types(kU8, kI32), kI32);
  EXPECT_EQ(promote_types(kI64, kF16), kF16);
  EXPECT_EQ(promote_types(kF16, kBF16), kF32);
  EXPECT_EQ(promote_types(kBool, kU8), kU8);
  EXPECT_EQ(promote_types(kBF16, kF64), kF64);
}

TEST(CanCast, NeverIntoALowerCategory) {
  EXPECT_FALSE(can_cast(kF16, kI64));
  EXPECT_FALSE(can_cast(kU8, kBool));
  EXPECT_TRUE(can_cast(kF64, kF16));
  EXPECT_TRUE(can_cast(kI64, kI8));
  EXPECT_TRUE(can_cast(kBool, kF32));
}

TEST(DType, NamesAndNumbersDoNotChange) {
  const char* names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"};
  for (int i = 0; i < kDTypeCount; ++i) EXPECT_EQ(name(dtype_at(i)), names[i]);
  EXPECT_EQ(size_bytes(kF64), 8);
  EXPECT_EQ(size_bytes(kBF16), 2);
  EXPECT_EQ(size_bytes(kBool), 1);
}

TEST(ResultType, ANumberChangesTheDtypeOnlyByAHigherCategory) {
  const Tensor ints = zeros({2}, kI8), flag = zeros({2}, kBool), halves = zeros({2}, kF16);
  EXPECT_EQ(result_type({ints, Scalar(1000)}), kI8);
  EXPECT_EQ(result_type({ints, Scalar(1.5)}), kF32);
  EXPECT_EQ(result_type({flag, Scalar(1)}), kI64);
  EXPECT_EQ(result_type({halves, Scalar(1.5)}), kF16);
  EXPECT_EQ(result_type({halves, zeros({}, kF64)}), kF16);
  EXPECT_EQ(result_type({ints, zeros({}, kF64)}), kF64);
}

}  // namespace
}  // namespace pel

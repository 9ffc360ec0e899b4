// Tensors on the meta device: sizes and strides without data.
#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/ops.h"
#include "pellucid/profile.h"

#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

TEST(Meta, HoldsSizesOfAnyExtentWithoutMemory) {
  const std::int64_t bytes = memory_stats().data_bytes;
  const Tensor t = empty({1 << 20, 1 << 20}, {kF64, kMeta});
  EXPECT_EQ(memory_stats().data_bytes, bytes);
  EXPECT_FALSE(t.has_data());
  EXPECT_EQ(t.device(), kMeta);
  EXPECT_EQ(t.numel(), std::int64_t{1} << 40);
  EXPECT_EQ(t.raw_data(), nullptr);
}

TEST(Meta, ViewsHaveTheSizesAndStridesOfTheCpu) {
  const Tensor m = empty({4, 6}, kMeta), c = empty({4, 6});
  const auto expect_same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(to_string(a.sizes()), to_string(b.sizes()));
    EXPECT_EQ(to_string(a.strides()), to_string(b.strides()));
    EXPECT_EQ(a.storage_offset(), b.storage_offset());
    EXPECT_EQ(a.device(), kMeta);
    EXPECT_FALSE(a.has_data());
  };
  expect_same(m.t(), c.t());
  expect_same(m.view({3, -1}), c.view({3, -1}));
  expect_same(m.t().reshape({24}), c.t().reshape({24}));
  expect_same(m[{1, Slice(2, 5)}], c[{1, Slice(2, 5)}]);
  expect_same(m.expand({2, 4, 6}), c.expand({2, 4, 6}));
  expect_same(m.diagonal(1), c.diagonal(1));
  expect_same(m.t().clone(), c.t().clone());
  expect_same(m.t().contiguous(), c.t().contiguous());
  expect_same(m.to(kI8), c.to(kI8));
  expect_same(zeros_like(c, kMeta), c);
  expect_same(m.split(4, 1)[1], c.split(4, 1)[1]);
}

TEST(Meta, ViewsThatDoNotFitAreRefusedAsOnTheCpu) {
  const Tensor m = empty({4, 6}, kMeta);
  EXPECT_THROW(m.view({5, 5}), ShapeError);
  EXPECT_THROW(m.t().view({24}), ShapeError);
  EXPECT_THROW(m[4], IndexError);
}

TEST(Meta, WritesCheckSizesLaunchNothingAndCount) {
  const Tensor m = empty({4, 6}, kMeta);
  const std::uint64_t launches = launch_count();
  const std::uint32_t version = m.version();
  m.fill_(3);
  m.copy_(empty({6}, kMeta));
  m.zero_();
  EXPECT_EQ(launch_count(), launches);
  EXPECT_EQ(m.version(), version + 3);
  EXPECT_THROW(m.copy_(empty({5}, kMeta)), ShapeError);
}

TEST(Meta, MixedWithTheCpuIsADeviceError) {
  EXPECT_EQ(thrown_by<DeviceError>([] { empty({2}, kMeta).copy_(ones({2})); }).message(),
            "operands are on different devices: meta and cpu; move them to one device first");
  EXPECT_THROW(ones({2}).copy_(empty({2}, kMeta)), DeviceError);
}

TEST(Meta, HasNoElementToReadOrPointTo) {
  const Tensor m = zeros({1}, kMeta);
  EXPECT_EQ(thrown_by<DeviceError>([&] { m.item(); }).message(), "f32[1]@meta has no data to read");
  EXPECT_EQ(thrown_by<DeviceError>([&] { m.data<float>(); }).message(),
            "a tensor on meta with sizes [1] has no data");
}

TEST(Meta, PrintsItsSizes) {
  EXPECT_EQ(to_string(empty({2, 3}, {kI8, kMeta})), "tensor(no data, i8[2, 3]@meta)");
  EXPECT_EQ(to_string(empty({0}, kMeta)), "tensor(no data, f32[0]@meta)");
}

TEST(Meta, WrittenOutValuesAreRefused) { EXPECT_THROW(tensor({1, 2}, kMeta), DeviceError); }

}  // namespace
}  // namespace pel

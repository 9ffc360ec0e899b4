// Where data lies: in the header's block, from malloc, or in aligned mappings; ranks, empty tensors,
// versions.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/ops.h"
#include "pellucid/tensor.h"

#include "support/errors.h"
#include "tensor/data_allocator.h"
#include "tensor/layout.h"

namespace pel {
namespace {

using test::thrown_by;

std::uintptr_t address(const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.raw_data()); }

TEST(Storage, SmallDataLiesInTheBlockOfItsHeader) {
  const std::int64_t blocks = memory_stats().small_blocks, bytes = memory_stats().data_bytes;
  for (const std::int64_t size : {1, 63, 64, 65, 512, 1024}) {
    const Tensor t = empty({size}, kU8);
    EXPECT_EQ(memory_stats().small_blocks, blocks + 1) << size;
    EXPECT_EQ(memory_stats().data_bytes, bytes) << size;
    const auto distance = address(t) - reinterpret_cast<std::uintptr_t>(t.header());
    EXPECT_LE(distance, 256u);
    EXPECT_EQ(address(t) % 64, 0u);
    t.fill_(7);  // the last byte is inside: AddressSanitizer would tell
  }
  EXPECT_EQ(memory_stats().small_blocks, blocks);
}

TEST(Storage, DataAboveAKibibyteLiesApart) {
  const std::int64_t bytes = memory_stats().data_bytes;
  for (const std::int64_t size : {std::int64_t{1025}, std::int64_t{4096}, kLargeBytes - 1}) {
    const Tensor t = empty({size}, kU8);
    EXPECT_EQ(memory_stats().data_bytes, bytes + size);
    EXPECT_EQ(address(t) % 64, 0u);
    t.fill_(7);
  }
  EXPECT_EQ(memory_stats().data_bytes, bytes);
}

TEST(Storage, FromTwoMebibytesUpDataIsAlignedToHugePages) {
  for (const std::int64_t size :
       {2 * kLargeBytes, 2 * kLargeBytes + 1, 3 * kLargeBytes, 5 * kLargeBytes + 17}) {
    const Tensor t = empty({size}, kU8);
    EXPECT_EQ(address(t) % (std::uintptr_t{2} << 20), 0u) << size;
    t.select(0, -1).fill_(7);
  }
}

// Returns the flags in /proc/self/smaps of the mapping that contains `address`; empty if the system has none.
std::string mapping_flags(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      is_it = begin <= address && address < end;
    } else if (is_it && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

// Not by resident memory: sanitizers and threads that start take some, too.
TEST(Storage, AMebibyteTakesNoHugePage) {
  const auto flags = [](std::int64_t bytes) { return mapping_flags(address(full({bytes}, 7, kU8))); };
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage") || flags(kLargeBytes).empty()) {
    GTEST_SKIP() << "this system has no huge pages, or does not show them";
  }
  const auto wants_huge_pages = [&](std::int64_t bytes) {
    return flags(bytes).find(" hg ") != std::string::npos;
  };
  EXPECT_TRUE(wants_huge_pages(2 * kLargeBytes));
  EXPECT_FALSE(wants_huge_pages(kLargeBytes));
  EXPECT_FALSE(wants_huge_pages(kLargeBytes * 3 / 2));
}

TEST(Storage, ElementsOfEverySizeClassKeepTheirValues) {
  for (std::int64_t n = 1; n < 2'000'000; n = n * 3 + 1) {
    const Tensor t = arange(n, kI32);
    EXPECT_EQ(t.select(0, 0).item().to_int(), 0);
    EXPECT_EQ(t.select(0, n - 1).item().to_int(), n - 1);
  }
}

TEST(Storage, AViewKeepsTheDataAfterItsBaseIsGone) {
  const std::int64_t blocks = memory_stats().small_blocks, bytes = memory_stats().data_bytes;
  for (const std::int64_t n : {4, 10'000, 1'000'000}) {
    Tensor view = arange(n)[{Slice(2, 4)}];
    const Tensor other = ones({n}, kI64);  // would take the block if it were free
    EXPECT_EQ(view.select(0, 0).item().to_int(), 2);
    EXPECT_EQ(view.select(0, 1).item().to_int(), 3);
  }
  EXPECT_EQ(memory_stats().small_blocks, blocks);
  EXPECT_EQ(memory_stats().data_bytes, bytes);
}

TEST(Rank, UpTo64AxesWork) {
  for (const std::size_t rank : {6u, 7u, 63u, 64u}) {
    const Tensor t = full(std::vector<Dim>(rank, 1), 3.5);
    EXPECT_EQ(t.dim(), static_cast<std::int64_t>(rank));
    EXPECT_EQ(t.item().to_double(), 3.5);
    EXPECT_EQ(t.clone().transpose(0, -1).contiguous().dim(), t.dim());
  }
}

TEST(Rank, TwoToTheTwentyElementsOverTwentyAxesComeBackInOrder) {
  const Tensor t = arange(1 << 20, kI32).view(std::vector<Dim>(20, 2));
  const Tensor back = t.transpose(0, 19).contiguous().transpose(0, 19).flatten();
  const Tensor plain = back.contiguous();
  const auto* values = plain.data<const std::int32_t>();
  for (std::int32_t i = 0; i < (1 << 20); ++i) ASSERT_EQ(values[i], i);
}

TEST(Rank, SixtyFiveAxesAreRefusedEverywhere) {
  const std::int64_t blocks = memory_stats().small_blocks;
  const std::vector<Dim> many(65, 1);
  EXPECT_EQ(thrown_by<ShapeError>([&] { pel::empty(many); }).message(),
            "a tensor has at most 64 axes, not 65");
  EXPECT_THROW(zeros(many, kMeta), ShapeError);
  EXPECT_THROW(empty_strided(many, many), ShapeError);
  EXPECT_THROW(ones({}).view(many), ShapeError);
  EXPECT_THROW(ones({}).reshape(many), ShapeError);
  EXPECT_THROW(ones({}).expand(many), ShapeError);
  EXPECT_THROW(ones({}).as_strided(many, many), ShapeError);
  EXPECT_THROW(ones(std::vector<Dim>(64, 1)).unsqueeze(0), ShapeError);
  EXPECT_THROW(ones(std::vector<Dim>(64, 1)).unflatten(0, {1, 1}), ShapeError);
  float value = 0;
  External external;
  external.data = &value;
  external.sizes = many;
  EXPECT_THROW(from_external(external), ShapeError);
  EXPECT_EQ(memory_stats().small_blocks, blocks);
}

TEST(EmptyTensor, HasNoElementsAndTakesEveryCall) {
  const Tensor t = zeros({2, 0, 3});
  EXPECT_EQ(t.numel(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(to_string(t.strides()), "[3, 3, 1]");
  EXPECT_EQ(to_string(t.clone().sizes()), "[2, 0, 3]");
  EXPECT_EQ(to_string(t.transpose(0, 1).contiguous().sizes()), "[0, 2, 3]");
  EXPECT_EQ(to_string(t.reshape({0, 7}).sizes()), "[0, 7]");
  EXPECT_EQ(to_string(t.expand({4, 2, 0, 3}).sizes()), "[4, 2, 0, 3]");
  EXPECT_EQ(to_string(t.to(kI8).sizes()), "[2, 0, 3]");
  EXPECT_NO_THROW(t.fill_(1));
  EXPECT_NO_THROW(t.copy_(zeros({1, 0, 1})));
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_THROW(t.item(), ValueError);
  EXPECT_THROW(t.select(1, 0), IndexError);
}

TEST(EmptyTensor, WithHugeOtherSizesFailsWithoutLosingABlock) {
  const std::int64_t blocks = memory_stats().small_blocks;
  try {
    static_cast<void>(empty({0, std::int64_t{1} << 62, 8}));  // no element, but the strides do not fit
  } catch (const ValueError&) {
  }
  EXPECT_EQ(memory_stats().small_blocks, blocks);
}

TEST(Creation, ARefusedDeviceLosesNoBlock) {
  const std::int64_t blocks = memory_stats().small_blocks;
  EXPECT_EQ(thrown_by<DeviceError>([] { empty({2}, Device{DeviceType::Cuda, 1}); }).message(),
            "no backend for device cuda:1 is built in");
  EXPECT_EQ(memory_stats().small_blocks, blocks);
}

TEST(Creation, NegativeSizesAndStridesAreRefused) {
  EXPECT_EQ(thrown_by<ValueError>([] { empty({2, -3}); }).message(), "size -3 in [2, -3] is negative");
  EXPECT_THROW(empty_strided({2}, {-1}), ValueError);
  EXPECT_THROW(empty_strided({2, 2}, {1}), ValueError);
  EXPECT_THROW(empty({std::int64_t{1} << 40, std::int64_t{1} << 40}), ValueError);
}

TEST(Creation, FromDataTakesAsManyValuesAsTheSizesHold) {
  const Tensor t = from_data<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ((t[{1, 0}].item().to_double()), 4);
  EXPECT_EQ(thrown_by<ValueError>([] { from_data<float>({1, 2}, {3}); }).message(),
            "2 values do not fill sizes [3]");
}

TEST(Version, CountsWritesAndIsSharedByViews) {
  const Tensor x = zeros({2, 3});
  const Tensor row = x[0], transposed = x.t();
  const std::uint32_t start = x.version();
  row.fill_(1);
  EXPECT_EQ(x.version(), start + 1);
  x.copy_(ones({3}));
  EXPECT_EQ(transposed.version(), start + 2);
  transposed.zero_();
  EXPECT_EQ(row.version(), start + 3);
}

TEST(Version, ReadingViewingAndCloningDoNotCount) {
  const Tensor x = ones({2, 3});
  const std::uint32_t start = x.version();
  const Tensor copy = x.clone();
  x.t().contiguous();
  x.to(kF64);
  copy.fill_(2);
  EXPECT_EQ(x.version(), start);
  EXPECT_EQ(x.clone().version(), 0u);
}

TEST(Version, ARefusedWriteDoesNotCount) {
  const Tensor x = ones({2, 3});
  const std::uint32_t start = x.version();
  EXPECT_THROW(x.copy_(ones({4})), ShapeError);
  EXPECT_THROW(x.expand({2, 2, 3}).copy_(ones({3})), AliasError);
  EXPECT_EQ(x.version(), start);
}

TEST(Tensor, CopiesReferToTheSameDataAndAnUndefinedOneToNothing) {
  Tensor a = ones({2});
  Tensor b = a;
  EXPECT_TRUE(a.is_same(b));
  b.fill_(3);
  EXPECT_EQ(a[1].item().to_double(), 3);
  const Tensor moved = std::move(b);
  EXPECT_FALSE(b.defined());  // NOLINT: moved from on purpose
  a = *&a;
  EXPECT_TRUE(a.is_same(moved));
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
}

TEST(Data, IsRefusedForAnotherDtype) {
  const Tensor x = zeros({2});
  EXPECT_EQ(thrown_by<DTypeError>([&] { x.data<double>(); }).message(), "the tensor holds f32, not f64");
  EXPECT_EQ(x.data<float>(), x.raw_data());
  EXPECT_EQ(x[1].data<const float>(), x.data<float>() + 1);
}

}  // namespace
}  // namespace pel

// Tensors over memory that someone else owns.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/ops.h"
#include "pellucid/tensor.h"

#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

TEST(ExternalMemory, IsReadAndWrittenInPlace) {
  float values[] = {1, 2, 3, 4, 5, 6};
  const Tensor t = from_external({.data = values, .dtype = kF32, .sizes = {2, 3}});
  EXPECT_EQ((t[{1, 2}].item().to_double()), 6);
  t[0].fill_(9);
  EXPECT_EQ(values[2], 9);
  EXPECT_EQ(values[3], 4);
  EXPECT_EQ(t.data<float>(), values);
}

TEST(ExternalMemory, ItsDeleterRunsOnceWhenTheLastViewIsGone) {
  int calls = 0;
  void* deleted = nullptr;
  float values[4] = {};
  const std::int64_t blocks = memory_stats().small_blocks;
  {
    Tensor last;
    {
      const Tensor t = from_external({.data = values, .dtype = kF32, .sizes = {4}, .deleter = [&](void* p) {
                                        ++calls;
                                        deleted = p;
                                      }});
      const Tensor copy = t, other = t.view({2, 2});
      last = other[1];
    }
    EXPECT_EQ(calls, 0);
    last.fill_(1);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(deleted, values);
  EXPECT_EQ(memory_stats().small_blocks, blocks);
}

TEST(ExternalMemory, ADeleterMayMakeAndDropTensors) {
  float value = 0;
  double seen = 0;
  {
    from_external({.data = &value, .dtype = kF32, .sizes = {1}, .deleter = [&](void*) {
                     seen = ones({3})[2].item().to_double();
                   }});
  }
  EXPECT_EQ(seen, 1);
}

TEST(ExternalMemory, ADeleterIsNotCalledForARefusedTensor) {
  int calls = 0;
  float value = 0;
  EXPECT_THROW(
      from_external({.data = &value, .dtype = kF32, .sizes = {-1}, .deleter = [&](void*) { ++calls; }}),
      ValueError);
  EXPECT_EQ(calls, 0);
}

TEST(ExternalMemory, CountsNotAsOurs) {
  std::vector<float> values(100'000);
  const std::int64_t bytes = memory_stats().data_bytes;
  const Tensor t = from_external({.data = values.data(), .dtype = kF32, .sizes = {100'000}});
  EXPECT_EQ(memory_stats().data_bytes, bytes);
}

TEST(ReadOnlyMemory, IsReadButNotWritten) {
  const float values[] = {1, 2, 3};
  const Tensor t =
      from_external({.data = const_cast<float*>(values), .dtype = kF32, .sizes = {3}, .read_only = true});
  EXPECT_TRUE(t.is_read_only());
  EXPECT_EQ(t.data<const float>(), values);
  EXPECT_EQ(t.clone()[1].item().to_double(), 2);
  EXPECT_FALSE(t.clone().is_read_only());
  EXPECT_EQ(thrown_by<AliasError>([&] { t.copy_(ones({3})); }).message(),
            "the output f32[3] is in read-only memory; write to a clone");
  EXPECT_THROW(t.fill_(0), AliasError);
  EXPECT_THROW(t.zero_(), AliasError);
  EXPECT_EQ(thrown_by<AliasError>([&] { t.data<float>(); }).message(),
            "the memory is read-only; read it with data<const T>()");
  EXPECT_EQ(t.version(), 0u);
}

TEST(ReadOnlyMemory, IsReadOnlyThroughEveryView) {
  float values[6] = {};
  const Tensor t = from_external({.data = values, .dtype = kF32, .sizes = {2, 3}, .read_only = true});
  for (const Tensor& view : {t.t(), t[0], t.view({6}), t.slice(1, 1), t.flatten(), t.contiguous()}) {
    EXPECT_TRUE(view.is_read_only());
    EXPECT_THROW(view.fill_(1), AliasError);
  }
}

class MisalignedMemory : public testing::Test {
 protected:
  MisalignedMemory() {
    const float values[] = {1.5f, -2, 3, 4};
    std::memcpy(bytes_ + 1, values, sizeof(values));
    tensor_ = from_external({.data = bytes_ + 1, .dtype = kF32, .sizes = {2, 2}});
  }
  alignas(64) char bytes_[32] = {};
  Tensor tensor_;
};

TEST_F(MisalignedMemory, WorksThroughItemPrintCopyCastAndFill) {
  EXPECT_EQ((tensor_[{0, 1}].item().to_double()), -2);
  EXPECT_EQ(to_string(tensor_), "tensor([[ 1.5000, -2.0000],\n        [ 3.0000,  4.0000]], f32[2, 2])");
  const Tensor copy = tensor_.clone();
  EXPECT_EQ(copy.data<float>()[3], 4);
  EXPECT_EQ(tensor_.t().contiguous().data<float>()[1], 3);
  EXPECT_EQ((tensor_.to(kI64)[{1, 0}].item().to_int()), 3);
  tensor_.copy_(copy.t());
  EXPECT_EQ((tensor_[{0, 1}].item().to_double()), 3);
  tensor_.fill_(8);
  EXPECT_EQ((tensor_[{1, 1}].item().to_double()), 8);
  EXPECT_EQ(bytes_[0], 0);
  EXPECT_EQ(bytes_[17], 0);
}

TEST_F(MisalignedMemory, IsNotHandedOutAsATypedPointer) {
  const auto error = thrown_by<AliasError>([&] { tensor_.data<const float>(); });
  EXPECT_NE(error.message().find("is not aligned for f32; clone() makes an aligned copy"), std::string::npos)
      << error.message();
  EXPECT_EQ(error.op(), "data");
  EXPECT_EQ(tensor_.raw_data(), bytes_ + 1);
}

TEST(ExternalMemory, StridesMayLeaveGapsRepeatAndTurn) {
  std::int32_t values[12];
  for (int i = 0; i < 12; ++i) values[i] = i;
  const Tensor column = from_external({.data = values + 1, .dtype = kI32, .sizes = {3}, .strides = {4}});
  EXPECT_EQ(column[2].item().to_int(), 9);
  EXPECT_FALSE(column.is_contiguous());
  const Tensor transposed =
      from_external({.data = values, .dtype = kI32, .sizes = {4, 3}, .strides = {1, 4}});
  EXPECT_EQ(transposed.contiguous().data<const std::int32_t>()[1], 4);
  const Tensor repeated = from_external({.data = values, .dtype = kI32, .sizes = {5}, .strides = {0}});
  EXPECT_EQ(repeated[4].item().to_int(), 0);
  EXPECT_THROW(repeated.copy_(arange(5, kI32)), AliasError);
}

TEST(ExternalMemory, ItsEndIsTheLastElementAddressed) {
  std::int32_t values[9] = {};
  const Tensor t = from_external({.data = values, .dtype = kI32, .sizes = {3}, .strides = {4}});
  EXPECT_NO_THROW(t.as_strided({9}, {1}));
  EXPECT_THROW(t.as_strided({10}, {1}), ValueError);
}

TEST(ExternalMemory, NullDataIsTakenOnlyWithoutElements) {
  const Tensor none = from_external({.data = nullptr, .dtype = kF32, .sizes = {0, 3}});
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(to_string(none.clone().sizes()), "[0, 3]");
  EXPECT_NO_THROW(none.fill_(1));
  EXPECT_EQ(to_string(none), "tensor([], f32[0, 3])");
  EXPECT_EQ(
      thrown_by<ValueError>([] { from_external({.data = nullptr, .dtype = kF32, .sizes = {2}}); }).message(),
      "data is null and sizes are [2]");
}

TEST(ExternalMemory, NegativeStridesWrongCountsAndOtherDevicesAreRefused) {
  float values[4] = {};
  EXPECT_EQ(thrown_by<ValueError>([&] {
              from_external({.data = values, .dtype = kF32, .sizes = {2}, .strides = {-1}});
            }).message(),
            "sizes [2] and strides [-1] must not be negative");
  EXPECT_THROW(from_external({.data = values, .dtype = kF32, .sizes = {2, 2}, .strides = {1}}), ValueError);
  EXPECT_THROW(from_external({.data = values, .dtype = kF32, .sizes = {2}, .device = kMeta}), DeviceError);
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THROW(from_external({.data = values, .dtype = kF32, .sizes = {3}, .strides = {huge}}), ValueError);
}

TEST(ExternalMemory, TwoTensorsOverOneBufferAreKnownToOverlap) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  const Tensor a = from_external({.data = values, .dtype = kF32, .sizes = {4}});
  const Tensor b = from_external({.data = values + 2, .dtype = kF32, .sizes = {4}});
  EXPECT_THROW(a.copy_(b), AliasError);
  const Tensor same = from_external({.data = values, .dtype = kF32, .sizes = {4}});
  EXPECT_NO_THROW(a.copy_(same));
}

}  // namespace
}  // namespace pel

// Errors of an asynchronous device are typed, name the call, and leave the process usable.
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "backends/queue/queue_device.h"
#include "device/block_allocator.h"
#include "device/gate.h"
#include "device/ordered_device.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::ClosedGate;
using test::thrown_by;
using test::wait_at_gate_;

class Faults : public testing::Test {
 protected:
  void TearDown() override {
    set_memory_limit(kQueue, 0);
    synchronize(kQueue);
    EXPECT_EQ((ones({4}, {kF32, kQueue}) + 1).sum().item().to_double(), 8);
  }
};

// ---- Late errors

TEST_F(Faults, AnIndexOutOfRangeIsThrownByTheNextWait) {
  const Tensor x = ones({3, 4}, {kF32, kQueue}), index = tensor({0, 7}, {kI64, kQueue});
  const Tensor picked = index_select(x, 0, index);
  const unsigned line = __LINE__ - 1;
  const IndexError error = thrown_by<IndexError>([&] { synchronize(kQueue); });
  EXPECT_TRUE(error.is_late());
  EXPECT_NE(error.message().find("7"), std::string::npos) << error.what();
  EXPECT_EQ(error.op(), "index_select");
  EXPECT_EQ(error.site().line(), line);
  EXPECT_EQ(test::file_of(error.site()), "faults_test.cc");
  EXPECT_NE(
      std::string(error.what()).find("the kernel ran after its call had returned; noticed by synchronize"),
      std::string::npos)
      << error.what();
  synchronize(kQueue);  // it is thrown once
  EXPECT_EQ(device_stats(kQueue).late_errors > 0, true);
}

TEST_F(Faults, TheErrorOfTheCpuIsTheSameButNotLate) {
  const Tensor x = ones({3, 4}), index = tensor({0, 7});
  const IndexError now = thrown_by<IndexError>([&] { static_cast<void>(index_select(x, 0, index)); });
  EXPECT_FALSE(now.is_late());
  static_cast<void>(index_select(x.to(kQueue), 0, index.to(kQueue)));
  EXPECT_EQ(thrown_by<IndexError>([] { synchronize(kQueue); }).message(), now.message());
}

TEST_F(Faults, TheFirstOfSeveralIsThrown) {
  const Tensor x = ones({3}, {kI32, kQueue}), zero = zeros({3}, {kI32, kQueue});
  const Tensor index = tensor({9}, {kI64, kQueue});
  static_cast<void>(remainder(x, zero));
  static_cast<void>(index_select(x, 0, index));
  const ValueError error = thrown_by<ValueError>([] { synchronize(kQueue); });
  EXPECT_EQ(error.message(), "integer division by zero");
  EXPECT_EQ(error.op(), "remainder");
  synchronize(kQueue);
}

TEST_F(Faults, AReadBackThrowsInPlaceOfAValue) {
  const Tensor x = ones({3}, {kI32, kQueue}), zero = zeros({3}, {kI32, kQueue});
  const Tensor broken = remainder(x, zero).sum();
  const ValueError error = thrown_by<ValueError>([&] { static_cast<void>(broken.item()); });
  EXPECT_TRUE(error.is_late());
  EXPECT_NE(std::string(error.what()).find("noticed by item at "), std::string::npos) << error.what();
}

TEST_F(Faults, AnErrorOfOneStreamIsThrownByItsWaits) {
  const Tensor x = ones({3}, {kI32, kQueue}), zero = zeros({3}, {kI32, kQueue});
  synchronize(kQueue);
  {
    const StreamScope scope(Stream(kQueue, 3));
    static_cast<void>(remainder(x, zero));
  }
  synchronize(Stream(kQueue, 4));
  thrown_by<ValueError>([] { synchronize(Stream(kQueue, 3)); });
}

TEST_F(Faults, AnErrorArrivesAtAStreamThatDependsOnIt) {
  const Tensor x = ones({3}, {kI32, kQueue}), zero = zeros({3}, {kI32, kQueue});
  Tensor broken;
  {
    const StreamScope scope(Stream(kQueue, 5));
    broken = remainder(x, zero);
  }
  const StreamScope scope(Stream(kQueue, 6));
  thrown_by<ValueError>([&] { static_cast<void>(broken.sum().item()); });
}

// ---- Memory

TEST_F(Faults, ALimitIsAnErrorBeforeAnythingIsAllocated) {
  const std::int64_t used = memory_stats(kQueue).data_bytes;
  set_memory_limit(kQueue, used + 100'000);
  const Tensor small = ones({1000}, {kF32, kQueue});
  const MemoryError error = thrown_by<MemoryError>([] { ones({100'000}, {kF32, kQueue}); });
  EXPECT_EQ(
      error.message(),
      fmt::format("an allocation of 400000 bytes on queue would exceed the limit of {} bytes: {} are in use "
                  "(set_memory_limit raises it)",
                  used + 100'000, used + 4000));
  EXPECT_EQ(memory_stats(kQueue).data_bytes, used + 4000);
  EXPECT_EQ(small.sum().item().to_double(), 1000);
}

TEST_F(Faults, AnImpossibleSizeIsAnError) {
  const std::int64_t used = memory_stats(kQueue).data_bytes;
  thrown_by<MemoryError>([] { empty({std::int64_t{1} << 50}, {kF32, kQueue}); });
  EXPECT_EQ(memory_stats(kQueue).data_bytes, used);
}

// A device whose memory ends. Commands are those of a queue.
class SmallDevice final : public AsyncDevice {
 public:
  explicit SmallDevice(std::int64_t bytes) : left_(bytes) {
    facts_ = queue_->facts();
    facts_.max_segment_bytes = bytes;
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::byte* reserve(std::int64_t bytes) override {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    return queue_->reserve(bytes);
  }
  void release(std::byte* segment, std::int64_t bytes) noexcept override {
    left_ += bytes;
    ++released;
    queue_->release(segment, bytes);
  }
  void* host_address(std::byte* address) const override { return queue_->host_address(address); }
  void* pin(std::int64_t bytes) override { return queue_->pin(bytes); }
  void unpin(void* memory, std::int64_t bytes) noexcept override { queue_->unpin(memory, bytes); }
  StreamHandle make_stream(int index) override { return queue_->make_stream(index); }
  EventHandle record(StreamHandle stream) override { return queue_->record(stream); }
  void wait(StreamHandle stream, EventHandle event) override { queue_->wait(stream, event); }
  bool has_passed(EventHandle event) override { return queue_->has_passed(event); }
  void wait(EventHandle event) override { queue_->wait(event); }
  void drop(EventHandle event) noexcept override { queue_->drop(event); }
  std::uint64_t queued(StreamHandle stream) override { return queue_->queued(stream); }
  bool launch(StreamHandle stream, const DeviceLaunch& launch) override {
    return queue_->launch(stream, launch);
  }
  bool copy_in(StreamHandle stream, std::byte* dst, const void* src, std::int64_t bytes) override {
    return queue_->copy_in(stream, dst, src, bytes);
  }
  bool copy_out(StreamHandle stream, void* dst, const std::byte* src, std::int64_t bytes) override {
    return queue_->copy_out(stream, dst, src, bytes);
  }
  void wait_for_space(StreamHandle stream) override { queue_->wait_for_space(stream); }
  std::optional<LateError> take_error(StreamHandle stream) override { return queue_->take_error(stream); }

  int released = 0;

 private:
  // Lives as long as the process: its workers do.
  static AsyncDevice* new_queue() {
    static auto* const all = new std::vector<std::unique_ptr<AsyncDevice>>;
    return all->emplace_back(queue::make_queue_device()).get();
  }
  AsyncDevice* const queue_ = new_queue();
  DeviceFacts facts_;
  std::int64_t left_;
};

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
bool is_never_ordered(const void*, const DeviceBlock&, std::uint8_t) { return false; }

TEST(BlockAllocator, RoundsUpByNoMoreThanAnEighth) {
  for (std::int64_t bytes = 1; bytes < 100 * kMiB; bytes += 1 + bytes / 7) {
    const std::int64_t rounded = BlockAllocator::round_up(bytes);
    EXPECT_GE(rounded, bytes);
    EXPECT_LE(rounded, std::max<std::int64_t>(bytes + 64, bytes + bytes / 8)) << bytes;
    EXPECT_EQ(BlockAllocator::round_up(rounded), rounded);
    EXPECT_EQ(rounded % 64, 0);
  }
}

TEST(BlockAllocator, ReusesABlockOfTheSameStreamAtOnce) {
  SmallDevice device(64 * kMiB);
  BlockAllocator blocks(device);
  DeviceBlock* const first = blocks.take(1000, 0, is_never_ordered, nullptr);
  ASSERT_NE(first, nullptr);
  first->use_by(0).written = 5;
  blocks.give(first);
  EXPECT_EQ(blocks.take(1010, 0, is_never_ordered, nullptr), first);  // of one class
  EXPECT_EQ(blocks.reused(), 1);
}

TEST(BlockAllocator, PrefersNewMemoryToABlockOfAnotherStream) {
  SmallDevice device(64 * kMiB);
  BlockAllocator blocks(device);
  DeviceBlock* const first = blocks.take(1000, 0, is_never_ordered, nullptr);
  first->use_by(0).written = 5;
  blocks.give(first);
  DeviceBlock* const second = blocks.take(1000, 1, is_never_ordered, nullptr);
  EXPECT_NE(second, first);
  // Where memory ends it is taken, with its record of uses.
  DeviceBlock* taken = nullptr;
  while (taken != first) {
    taken = blocks.take(1000, 1, is_never_ordered, nullptr);
    ASSERT_NE(taken, nullptr);
  }
  EXPECT_EQ(first->first.written, 5U);
}

TEST(BlockAllocator, BlocksDoNotOverlap) {
  SmallDevice device(256 * kMiB);
  BlockAllocator blocks(device);
  std::map<std::byte*, DeviceBlock*> live;
  std::uint64_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 60) < 7 && !live.empty()) {
      const auto it = std::next(live.begin(), static_cast<std::ptrdiff_t>((state >> 20) % live.size()));
      blocks.give(it->second);
      live.erase(it);
      continue;
    }
    DeviceBlock* const block =
        blocks.take(1 + static_cast<std::int64_t>((state >> 30) % 200'000), 0, is_never_ordered, nullptr);
    if (block == nullptr) continue;
    const auto [at, is_new] = live.emplace(block->address, block);
    ASSERT_TRUE(is_new);
    if (at != live.begin()) {
      ASSERT_LE(std::prev(at)->first + std::prev(at)->second->bytes, block->address);
    }
    if (std::next(at) != live.end()) {
      ASSERT_LE(block->address + block->bytes, std::next(at)->first);
    }
  }
  for (const auto& [address, block] : live) blocks.give(block);
  EXPECT_EQ(blocks.used_bytes(), 0);
  blocks.release_free_segments();
  EXPECT_EQ(blocks.reserved_bytes(), 0);
}

// Memory of one size is given back for one of another size.
TEST(OrderedDevice, GivesSegmentsBackBeforeItFails) {
  auto backend = std::make_unique<SmallDevice>(64 * kMiB);
  SmallDevice& small = *backend;
  static auto* const device = new OrderedDevice(kQueue, std::move(backend));  // its worker runs until the end
  const auto allocate = [&](detail::StorageHeader& storage, std::int64_t bytes) {
    storage.device = kQueue;
    device->allocate(storage, bytes);
  };
  for (const std::int64_t bytes : {40 * kMiB, 50 * kMiB, 30 * kMiB, 60 * kMiB}) {
    detail::StorageHeader storage{};
    allocate(storage, bytes);
    EXPECT_TRUE(is_device_address(storage.data));
    device->free_block(storage);
  }
  EXPECT_GE(small.released, 3);
  detail::StorageHeader held{}, refused{}, after{};
  allocate(held, 40 * kMiB);
  const MemoryError error = thrown_by<MemoryError>([&] { allocate(refused, 40 * kMiB); });
  EXPECT_EQ(
      error.message(),
      fmt::format("the system could not allocate {} bytes for queue: {} are in use by tensors, and segments "
                  "of {} bytes are held for them; free tensors, or pass smaller ones",
                  40 * kMiB, 40 * kMiB, 40 * kMiB));
  device->free_block(held);
  allocate(after, 40 * kMiB);
  device->free_block(after);
}

}  // namespace
}  // namespace pel

#include "backends/queue/queue_device.h"

#include <array>
#include <atomic>
#include <cstdlib>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "backends/queue/command_ring.h"
#include "base/huge_pages.h"
#include "base/processors.h"

namespace pel::queue {
namespace {

std::byte* with_address_bit(std::byte* memory) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) | kAddressBit);
}
std::byte* without_address_bit(const std::byte* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit);
}

// An event is the number of the stream's commands so far; the top byte is the stream.
constexpr int kStreamShift = 56;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kStreamShift) - 1;

// Whether this process was forked from one that had streams: their workers are not here.
std::atomic<bool> is_without_workers{false};

class QueueDevice final : public AsyncDevice {
 public:
  QueueDevice() {
    struct sysinfo memory{};
    sysinfo(&memory);
    facts_.name = "CPU, asynchronous";
    facts_.memory_bytes = static_cast<std::int64_t>(memory.totalram * memory.mem_unit);
    facts_.max_segment_bytes = facts_.memory_bytes;
    facts_.processors = available_processors();
    facts_of_child_ = facts_;
    facts_of_child_.refusal = "this process was forked from one that had used the device";
  }

  const DeviceFacts& facts() const override {
    return is_without_workers.load(std::memory_order_relaxed) ? facts_of_child_ : facts_;
  }

  std::byte* reserve(std::int64_t bytes) override {
    std::byte* const memory = map_huge_pages(static_cast<std::size_t>(bytes));
    return memory == nullptr ? nullptr : with_address_bit(memory);
  }
  void release(std::byte* segment, std::int64_t bytes) noexcept override {
    munmap(without_address_bit(segment), static_cast<std::size_t>(bytes));
  }
  void* host_address(std::byte* address) const override { return without_address_bit(address); }
  void* pin(std::int64_t bytes) override { return std::aligned_alloc(64, static_cast<std::size_t>(bytes)); }
  void unpin(void* memory, std::int64_t) noexcept override { std::free(memory); }

  StreamHandle make_stream(int index) override {
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { is_without_workers.store(true); });
    rings_[static_cast<std::size_t>(index)] = std::make_unique<CommandRing>(index);
    return StreamHandle(static_cast<std::uint64_t>(index));
  }
  EventHandle record(StreamHandle stream) override {
    return EventHandle(static_cast<std::uint64_t>(stream) << kStreamShift | ring(stream).added());
  }
  void wait(StreamHandle stream, EventHandle event) override {
    ring(stream).add_wait(ring_of(event), count_of(event));
  }
  bool has_passed(EventHandle event) override { return ring_of(event).has_ended(count_of(event)); }
  void wait(EventHandle event) override { ring_of(event).wait_until_ended(count_of(event)); }
  void drop(EventHandle) noexcept override {}
  std::uint64_t queued(StreamHandle stream) override { return ring(stream).queued(); }

  bool launch(StreamHandle stream, const DeviceLaunch& launch) override {
    return ring(stream).add_launch(launch);
  }
  bool copy_in(StreamHandle stream, std::byte* dst, const void* pinned, std::int64_t bytes) override {
    return ring(stream).add_copy("Memcpy HtoD (Pinned -> Device)", dst, pinned, bytes);
  }
  bool copy_out(StreamHandle stream, void* pinned, const std::byte* src, std::int64_t bytes) override {
    return ring(stream).add_copy("Memcpy DtoH (Device -> Pinned)", pinned, src, bytes);
  }
  void wait_for_space(StreamHandle stream) override { ring(stream).wait_for_space(); }
  std::optional<LateError> take_error(StreamHandle stream) override { return ring(stream).take_error(); }

 private:
  CommandRing& ring(StreamHandle stream) { return *rings_[static_cast<std::size_t>(stream)]; }
  CommandRing& ring_of(EventHandle event) { return *rings_[static_cast<std::size_t>(event) >> kStreamShift]; }
  static std::uint64_t count_of(EventHandle event) { return static_cast<std::uint64_t>(event) & kCountMask; }

  DeviceFacts facts_, facts_of_child_;
  std::array<std::unique_ptr<CommandRing>, kMaxStreams> rings_;
};

}  // namespace

std::unique_ptr<AsyncDevice> make_queue_device() { return std::make_unique<QueueDevice>(); }

}  // namespace pel::queue

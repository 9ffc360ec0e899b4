// One asynchronous device with all that is shared above it: memory, streams, the order between them, copies,
// statistics and late errors.
//
// Order. A command waits for the last writes of other streams to what it reads, and for their last uses of
// what it writes; once for each pair of streams and point. Uses are noted when a command is queued, under the
// lock of the device, so reads, writes and frees of any threads have one order: that of their calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/detail/tensor_header.h"
#include "pellucid/memory.h"
#include "pellucid/opencl.h"

#include "device/async_device.h"
#include "device/block_allocator.h"
#include "device/plan_replay.h"
#include "device/prepared_kernel.h"
#include "device/staging.h"

namespace pel {

namespace profile {
class LaunchSpan;
}

enum class Access : std::uint8_t { Read, Write };
struct BlockUse {
  DeviceBlock* block;
  Access access;
};

// A set of streams, a bit each.
using StreamMask = std::uint32_t;
inline constexpr StreamMask kAllStreams = (1u << kMaxStreams) - 1;

// What a wait is for: a device, its streams, and why; for errors and statistics.
struct WaitReason {
  std::string_view why;  // "to read an element"
  Site site;             // line 0: not known
};

// Whether ForbidSync applies. It does not where a wait depends on time: a full queue.
enum class Forbiddable : bool { No, Yes };

class OrderedDevice {
 public:
  OrderedDevice(Device device, std::unique_ptr<AsyncDevice> backend);

  Device device() const { return device_; }
  const DeviceFacts& facts() const { return backend_->facts(); }
  void* host_address(std::byte* address) const { return backend_->host_address(address); }

  // ---- Memory
  // Sets data, release, context and size of `storage`. For commands of this thread's current stream.
  void allocate(detail::StorageHeader& storage, std::int64_t bytes);
  void free_block(const detail::StorageHeader& storage) noexcept;
  void set_limit(std::int64_t bytes);
  void reset_peak();
  MemoryStats memory();
  void empty_cache(const Site& site);

  // ---- Commands, on this thread's current stream
  void launch(const DeviceLaunch& launch, ArrayView<BlockUse> uses);
  // From and to memory of the host, which may be reused at once. copy_out waits.
  void copy_in(std::byte* dst, DeviceBlock* block, const std::byte* src, std::int64_t bytes);
  void copy_out(std::byte* dst, const std::byte* src, DeviceBlock* block, std::int64_t bytes,
                const WaitReason& reason);

  // A run of a plan that the device may replay, on this thread's current stream: it begins before the first
  // launch with it, and ends after the last. Launches of a run that is abandoned are queued, too.
  void begin_run(ReplayRun& run);
  void end_run(ReplayRun& run);
  void abandon_run(ReplayRun& run) noexcept;
  // Returns what a run of the plan is, and why, for explanations.
  std::pair<std::string, std::string> explain(const PlanReplay& replay);

  // Frees what the driver has for them. They are launched no more.
  void drop(std::vector<PreparedKernel>& kernels, PlanReplay* replay) noexcept;
  // Frees `code` when all that is queued now has ended: kernels of a plan, which queued launches refer to.
  void keep_until_passed(std::shared_ptr<const void> code);

  // ---- Waits; see sync.h
  // Waits for all that the streams have queued so far, then throws the late error of one of them if there is
  // one.
  void wait_for(StreamMask streams, const WaitReason& reason, Forbiddable forbiddable = Forbiddable::Yes);
  // Waits for all that is queued, without a note, an error, or regard to ForbidSync: a Profile ends.
  void drain();
  // Streams that must have passed before the host may access the memory.
  StreamMask users_of(const DeviceBlock& block, Access access);

  DeviceStats stats();
  std::vector<DeviceWait> waits();
  void reset_stats();

  // Counts a call that runs on copies in host memory, and reports its op and line on stderr the first time.
  void note_fallback(std::string_view op_name, const Site& site, std::string_view reason);
  std::vector<DeviceFallback> fallbacks();

 private:
  struct StreamState {
    bool exists = false;
    StreamHandle handle{};
    std::uint64_t queued = 0;                         // number of the last command
    std::uint64_t passed = 0;                         // commands that the host has waited for
    std::array<std::uint64_t, kMaxStreams> waited{};  // commands of other streams that it has waited for
  };
  // An event of each stream of a set, to wait for without the lock.
  struct Events {
    std::array<EventHandle, kMaxStreams> handles{};
    std::array<std::uint64_t, kMaxStreams> points{};  // the last command before each
    StreamMask streams = 0;
  };

  StreamState& stream(std::uint8_t index);
  // Whether a stream needs no wait for this command of another one.
  bool is_past(const StreamState& stream, std::uint8_t other, std::uint64_t point) const {
    return point <= stream.waited[other] || point <= streams_[other].passed;
  }
  bool is_ordered(const DeviceBlock& block, std::uint8_t stream) const;
  bool is_idle() const;  // no stream has a command that has not ended
  void order(std::uint8_t index, ArrayView<BlockUse> uses);
  // Queues a command; `add` returns false while the queue is full.
  template <class Add>
  void queue(std::uint8_t index, ArrayView<BlockUse> uses, const Add& add);
  void end_before_copy(profile::LaunchSpan& span, StreamHandle stream);
  StreamMask with_those_waited_for(StreamMask streams) const;
  bool has_passed(const Events& events);
  void note_wait(const WaitReason& reason, std::uint64_t ns, std::uint64_t queued);
  void refuse_over_limit(std::int64_t bytes) const;
  DeviceBlock* take_block(std::int64_t bytes, std::uint8_t index, std::unique_lock<std::mutex>& lock);

  const Device device_;
  const std::unique_ptr<AsyncDevice> backend_;
  std::mutex mutex_;
  std::array<StreamState, kMaxStreams> streams_;
  BlockAllocator blocks_;
  std::int64_t data_bytes_ = 0, peak_bytes_ = 0, limit_bytes_ = 0;
  DeviceStats stats_;
  struct WaitCount {
    Site site{};
    std::uint64_t count = 0, ns = 0, queued = 0;
  };
  std::map<std::tuple<std::string, std::string, std::uint32_t>, WaitCount> waits_;  // by reason, file, line
  struct Kept {
    std::shared_ptr<const void> code;
    Events until;
  };
  std::vector<Kept> kept_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, DeviceFallback>
      fallbacks_;             // by op, file, line
  std::mutex staging_mutex_;  // taken before mutex_
  StagingRing staging_;
};

}  // namespace pel

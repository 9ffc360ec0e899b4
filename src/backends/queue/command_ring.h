// The commands of one stream, and the thread that runs them.
//
// A ring of kSlots commands with copies of all that they need. One thread adds at a time (the caller holds
// the lock of the device); the worker runs them in order. A command has ended when `ended_` has passed its
// number.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/async_device.h"
#include "profile/device_span.h"

namespace pel::queue {

class CommandRing {
 public:
  static constexpr std::uint64_t kSlots = 1024;

  explicit CommandRing(int index);  // of the stream
  CommandRing(const CommandRing&) = delete;
  CommandRing& operator=(const CommandRing&) = delete;

  // False: all slots are in use.
  bool add_launch(const DeviceLaunch& launch);
  // `name` is that of the copy in profiles.
  bool add_copy(const char* name, void* dst, const void* src, std::int64_t bytes);
  // The worker waits until `other` has ended this many commands. Waits itself if all slots are in use.
  void add_wait(CommandRing& other, std::uint64_t count);

  std::uint64_t added() const { return added_.load(std::memory_order_relaxed); }
  bool has_ended(std::uint64_t count) const { return ended_.load(std::memory_order_acquire) >= count; }
  std::uint64_t queued() const { return added() - ended_.load(std::memory_order_acquire); }
  void wait_until_ended(std::uint64_t count);
  void wait_for_space();
  std::optional<LateError> take_error();

 private:
  static constexpr std::size_t kInlineOperands = 8, kInlineNumbers = 8, kInlineDims = 96;

  struct Slot {
    enum class Kind : std::uint8_t { Launch, Copy, Wait } kind = Kind::Launch;
    Site site{};
    profile::LaunchOrigin origin{};  // of a launch or a copy
    // Launch
    const Kernel* kernel = nullptr;
    const char* op_name = nullptr;
    KernelArgs args{};
    std::array<Operand, kInlineOperands> operands;
    std::array<PelScalar, kInlineNumbers> numbers;
    std::array<std::int64_t, kInlineDims> dims;  // sizes and strides of operands; values of numbers
    std::vector<std::byte> more;                 // in place of these, if they are too small
    // Copy
    const char* name = nullptr;
    void* dst = nullptr;
    const void* src = nullptr;
    std::int64_t bytes = 0;
    // Wait
    CommandRing* other = nullptr;
    std::uint64_t count = 0;
  };

  Slot* next_slot();  // null: all are in use
  void publish();     // the command in the slot that next_slot returned
  static void copy_arguments(Slot& slot, const KernelArgs& args);
  void work();
  void run(Slot& slot);
  void run_kernel(const Slot& slot);
  void run_copy(const Slot& slot) const;

  std::unique_ptr<std::array<Slot, kSlots>> slots_;
  const int index_;
  std::uint64_t known_ended_ = 0;  // of the thread that adds

  alignas(64) std::atomic<std::uint64_t> added_{0};
  alignas(64) std::atomic<std::uint64_t> ended_{0};
  // Threads that are parked: the worker for the next command, others for the end of one.
  alignas(64) std::atomic<bool> worker_is_parked_{false};
  std::atomic<int> parked_waiters_{0};
  std::mutex mutex_;
  std::condition_variable command_added_, command_ended_;

  std::atomic<bool> has_error_{false};
  std::mutex error_mutex_;
  std::optional<LateError> error_;
};

}  // namespace pel::queue

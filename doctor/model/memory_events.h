// Allocations and frees of a trace (profile_memory=True) in columns, 24 bytes each.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "doctor/model/blocks.h"

namespace pel::doctor {

// The numbers that a trace does not have are the least of 64 bits, kNoNumber.
struct MemoryEvent {
  std::int64_t time_ns;
  std::int64_t address;
  std::int64_t bytes;                // of a free: negative
  std::int64_t allocated, reserved;  // on its device, afterwards
  std::uint32_t row;                 // the thread, of EventTable::rows
  std::int32_t device_type, device;  // as c10 numbers them: 0 is the CPU, 1 CUDA, 6 HIP
};

// In the order of the document. Times and totals are differences from the event before, so they are read one
// after the other.
class MemoryEvents {
 public:
  void push_back(const MemoryEvent& event);
  std::size_t size() const { return bytes_.size(); }
  bool is_in_order() const { return is_in_order_; }  // by time

  // Calls visit(event) for each.
  template <class F>
  void each(F&& visit) const {
    std::vector<Totals> totals(devices_.size());
    std::int64_t time = 0;
    std::size_t change = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const Thread& thread = threads_[threads_of_[i]];
      Totals& total = totals[thread.device];
      for (; change < changes_.size() && changes_[change].event == i; ++change)
        totals[changes_[change].device].reserved = changes_[change].reserved;
      time += time_steps_[i];
      const std::int64_t bytes = bytes_[i], step = allocated_steps_[i];
      if (step != kNone) total.allocated = added(added(total.allocated, bytes), step);
      const auto& [type, device] = devices_[thread.device];
      visit(MemoryEvent{.time_ns = time,
                        .address = addresses_[i],
                        .bytes = bytes,
                        .allocated = step == kNone ? kNone : total.allocated,
                        .reserved = total.reserved,
                        .row = thread.row,
                        .device_type = type,
                        .device = device});
    }
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  struct Thread {
    std::uint32_t row, device;  // of devices_
    auto operator<=>(const Thread&) const = default;
  };
  struct Totals {
    std::int64_t allocated = 0, reserved = kNone;
  };
  struct Change {
    std::size_t event;
    std::uint32_t device;
    std::int64_t reserved;
  };
  // Modulo 2^64, so that a difference brings back any number.
  static std::int64_t added(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  std::uint32_t thread_of(const MemoryEvent& event);

  NumberBlocks time_steps_, bytes_;
  NumberBlocks allocated_steps_;  // what was allocated less the total before and the bytes; kNone: not known
  Blocks<std::int64_t> addresses_;
  Blocks<std::uint32_t> threads_of_;
  std::vector<Thread> threads_;  // each with one device
  std::map<Thread, std::uint32_t> thread_ids_;
  std::vector<std::pair<std::int32_t, std::int32_t>> devices_;  // type and number
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> device_ids_;
  std::vector<Totals> totals_;   // by device, after the last event
  std::vector<Change> changes_;  // of what is reserved, which are rare
  std::int64_t last_time_ns_ = 0;
  std::uint32_t last_thread_ = 0;
  bool is_in_order_ = true;
};

}  // namespace pel::doctor

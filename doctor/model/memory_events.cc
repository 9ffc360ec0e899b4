#include "doctor/model/memory_events.h"

namespace pel::doctor {

std::uint32_t MemoryEvents::thread_of(const MemoryEvent& event) {
  const std::pair device(event.device_type, event.device);
  if (last_thread_ < threads_.size() && threads_[last_thread_].row == event.row &&
      devices_[threads_[last_thread_].device] == device)
    return last_thread_;
  const auto [known, is_new_device] =
      device_ids_.try_emplace(device, static_cast<std::uint32_t>(devices_.size()));
  if (is_new_device) {
    devices_.push_back(device);
    totals_.emplace_back();
  }
  const Thread thread{event.row, known->second};
  const auto [at, is_new] = thread_ids_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size()));
  if (is_new) threads_.push_back(thread);
  return last_thread_ = at->second;
}

void MemoryEvents::push_back(const MemoryEvent& event) {
  const std::uint32_t thread = thread_of(event), device = threads_[thread].device;
  Totals& total = totals_[device];
  if (event.reserved != total.reserved) {
    total.reserved = event.reserved;
    changes_.push_back({size(), device, event.reserved});
  }
  std::int64_t step = kNone;
  if (event.allocated != kNone) {
    step = difference(difference(event.allocated, total.allocated), event.bytes);
    // The one total that would read as none is off by a byte.
    if (step == kNone) ++step;
    total.allocated = added(added(total.allocated, event.bytes), step);
  }
  is_in_order_ &= size() == 0 || event.time_ns >= last_time_ns_;
  time_steps_.push_back(event.time_ns - last_time_ns_);
  last_time_ns_ = event.time_ns;
  addresses_.push_back(event.address);
  threads_of_.push_back(thread);
  allocated_steps_.push_back(step);
  bytes_.push_back(event.bytes);
}

}  // namespace pel::doctor

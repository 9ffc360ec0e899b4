#include "profile/recorder.h"

#include <atomic>
#include <chrono>

namespace pel {
namespace profile {

constinit thread_local ThreadState thread_state;

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

static std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void record(Event event) {
  event.thread = thread_number();
  thread_state.recording->add(event);
}

}  // namespace profile

std::uint64_t launch_count() { return profile::thread_state.launches; }

Recording::Recording() : outer_(profile::thread_state.recording) { profile::thread_state.recording = this; }
Recording::~Recording() { profile::thread_state.recording = outer_; }

}  // namespace pel

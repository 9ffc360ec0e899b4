// Records of asynchronous devices. A call that queues a command writes a Launch, a call that waits a Sync,
// both on the thread of the caller. The device writes the Kernel or the Copy, with the correlation of its
// launch, on the thread that runs it.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/recorder.h"

namespace pel::profile {

// The call that queues a command, for the record of the command.
struct LaunchOrigin {
  std::uint32_t session = 0;  // 0: nothing is recorded
  std::uint32_t thread = 0;
  std::uint64_t correlation = 0, op_id = 0;
};
// That of the launch under way on this thread: a device keeps it with the command.
inline LaunchOrigin launch_under_way() {
  return thread_state.launch == nullptr ? LaunchOrigin{} : *thread_state.launch;
}

inline constexpr const char kLaunchName[] = "launch", kCopyInName[] = "copy to the device",
                            kCopyOutName[] = "copy to the host";

// Queues one command. Not recorded if ready() was not called: an error was thrown.
class LaunchSpan {
 public:
  LaunchSpan(Device device, int stream, const char* name) {
    if (settings().session() != 0) [[unlikely]]
      begin(device, stream, name);
  }
  ~LaunchSpan() {
    if (span_.session != 0) [[unlikely]]
      end();
  }
  LaunchSpan(const LaunchSpan&) = delete;
  LaunchSpan& operator=(const LaunchSpan&) = delete;

  bool is_recorded() const { return span_.session != 0; }
  // The span ends here, if it is recorded. `queued`: commands of the stream that have not ended.
  void ready(std::uint64_t queued) {
    if (span_.session == 0) [[likely]]
      return;
    queued_ = queued;
    end_ = ticks();
  }

 private:
  void begin(Device device, int stream, const char* name);
  void end();
  OpenSpan span_;
  Device device_;
  int stream_ = 0;
  const char* name_ = nullptr;
  LaunchOrigin origin_;
  std::uint64_t queued_ = 0, end_ = 0;
};

// A wait of this thread, from construction to destruction.
class WaitSpan {
 public:
  // `stream` is -1 for several.
  WaitSpan(Device device, int stream, std::string_view why, const Site& site, std::uint64_t queued);
  ~WaitSpan();
  WaitSpan(const WaitSpan&) = delete;
  WaitSpan& operator=(const WaitSpan&) = delete;

 private:
  OpenSpan span_;
  Device device_;
  int stream_ = 0;
  const char* why_ = nullptr;
  Site site_{};
  std::uint64_t queued_ = 0;
};

DeviceSpot spot_of(Device device, int stream, const LaunchOrigin& origin);

// On a thread of the device, after a copy that began at `begin`.
void write_copy(Stream stream, const char* name, std::int64_t bytes, std::uint64_t begin,
                const LaunchOrigin& origin, const Site& site);

}  // namespace pel::profile

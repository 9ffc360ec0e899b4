// Times of the commands of one stream while a Profile records, from OpenCL's events.
// <CL/cl.h> comes before this header.
#pragma once

#include <cstdint>
#include <deque>

#include "backends/opencl/opencl_library.h"
#include "profile/deferred_record.h"
#include "profile/recorder.h"

namespace pel::opencl {

class StreamTimes {
 public:
  // For the session that records now, and commands that go to `queue` from now on; 0 ends it.
  void start(const Library& library, cl_command_queue queue, std::uint32_t session);
  std::uint32_t session() const { return session_; }
  bool are_on() const { return session_ != 0; }

  // Where the next event of the command under way goes; null if no Profile records. Of several kernels the
  // first and the last one are kept.
  cl_event* next() {
    if (session_ == 0) [[likely]]
      return nullptr;
    return next_event();
  }
  // The command under way is queued; `record` is written when it has ended.
  void end_command(profile::DeferredRecord record);
  // Reads the times of commands that have ended. After a wait of the host, so that launches do not pay for
  // it.
  void collect();
  // Writes the records of all commands, which have ended.
  void write();

 private:
  // A moment on both clocks: a marker was queued at `ticks`.
  struct Moment {
    cl_event marker = nullptr;
    std::uint64_t ticks = 0, ns = 0;
  };
  struct Command {
    cl_event first = nullptr, last = nullptr;
    std::uint64_t begin_ns = 0, end_ns = 0;
    profile::DeferredRecord record{};
  };
  // Of commands that are held. Then those that have ended are written.
  static constexpr std::size_t kMaxHeld = 1 << 14, kCollectEach = 4096;

  cl_event* next_event();
  Moment measure() const;
  std::uint64_t time_of(cl_event event, cl_profiling_info what) const;
  void read(Moment& moment) const;
  void release(cl_event& event) const;
  void write_collected(const Moment& last);

  const Library* library_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::uint32_t session_ = 0;
  Moment first_;                   // of the session
  Moment latest_;                  // while commands are added
  Command now_;                    // the command under way
  std::deque<Command> running_;    // that may not have ended
  std::deque<Command> collected_;  // with their times
};

}  // namespace pel::opencl

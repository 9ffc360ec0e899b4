// The clocks are joined by two moments: one when the session begins, one when records are written. A marker
// has the device's time of its queueing, which lies between the ticks before and after the call. What is
// between two moments is interpolated.
#define CL_TARGET_OPENCL_VERSION 120
// clang-format off
#include <CL/cl.h>  // before the header that needs it
#include "backends/opencl/opencl_times.h"
// clang-format on

#include <utility>

namespace pel::opencl {

StreamTimes::Moment StreamTimes::measure() const {
  // The tightest of several: a thread may lose its core between the two clocks.
  constexpr int kTries = 3;
  Moment best;
  std::uint64_t width = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    cl_event marker = nullptr;
    const std::uint64_t before = profile::ticks();
    if (library_->clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &marker) != CL_SUCCESS) return best;
    const std::uint64_t after = profile::ticks();
    if (after - before < width) {
      std::swap(best.marker, marker);
      best.ticks = before + (after - before) / 2;
      width = after - before;
    }
    release(marker);
  }
  library_->clFlush(queue_);
  return best;
}

std::uint64_t StreamTimes::time_of(cl_event event, cl_profiling_info what) const {
  cl_ulong ns = 0;
  library_->clGetEventProfilingInfo(event, what, sizeof ns, &ns, nullptr);
  return ns;
}
void StreamTimes::release(cl_event& event) const {
  if (event != nullptr) library_->clReleaseEvent(event);
  event = nullptr;
}
void StreamTimes::read(Moment& moment) const {
  if (moment.marker == nullptr) return;
  library_->clWaitForEvents(1, &moment.marker);
  moment.ns = time_of(moment.marker, CL_PROFILING_COMMAND_QUEUED);
  release(moment.marker);
}

void StreamTimes::start(const Library& library, cl_command_queue queue, std::uint32_t session) {
  library_ = &library;
  queue_ = queue;
  session_ = session;
  for (Command& command : running_) {  // of a session that has ended
    release(command.first);
    release(command.last);
  }
  running_.clear();
  collected_.clear();
  release(first_.marker);
  release(latest_.marker);
  release(now_.first);
  release(now_.last);
  first_ = latest_ = {};
  if (session != 0) first_ = measure();
}

cl_event* StreamTimes::next_event() {
  if (now_.first == nullptr) return &now_.first;
  release(now_.last);
  return &now_.last;
}

void StreamTimes::end_command(profile::DeferredRecord record) {
  if (now_.first == nullptr) return;  // nothing was launched
  now_.record = std::move(record);
  running_.push_back(std::exchange(now_, {}));
  if (running_.size() % kCollectEach == 0) [[unlikely]]
    collect();
}

void StreamTimes::collect() {
  while (!running_.empty()) {
    Command& command = running_.front();
    cl_event& end = command.last == nullptr ? command.first : command.last;
    if (!has_ended(*library_, end)) break;
    command.begin_ns = time_of(command.first, CL_PROFILING_COMMAND_START);
    command.end_ns = time_of(end, CL_PROFILING_COMMAND_END);
    release(command.first);
    release(command.last);
    collected_.push_back(std::move(command));
    running_.pop_front();
  }
  if (collected_.size() < kMaxHeld) return;
  if (latest_.marker == nullptr) {
    latest_ = measure();
  } else if (has_ended(*library_, latest_.marker)) {
    read(latest_);
    write_collected(std::exchange(latest_, {}));
  }
}

void StreamTimes::write() {
  if (session_ == 0 || session_ != profile::settings().session()) return;
  collect();
  Moment last = measure();
  read(last);
  write_collected(last);
}

void StreamTimes::write_collected(const Moment& last) {
  read(first_);
  const double ns = static_cast<double>(last.ns) - static_cast<double>(first_.ns);
  const double ticks_per_ns = ns <= 0 ? 1 : static_cast<double>(last.ticks - first_.ticks) / ns;
  const auto ticks_at = [&](std::uint64_t at) {
    const double since = static_cast<double>(static_cast<std::int64_t>(at - first_.ns)) * ticks_per_ns;
    return first_.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since));
  };
  for (Command& command : collected_)
    profile::write_deferred(command.record, ticks_at(command.begin_ns), ticks_at(command.end_ns));
  collected_.clear();
}

}  // namespace pel::opencl

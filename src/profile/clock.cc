#include "profile/clock.h"

#include <thread>

#include <time.h>

namespace pel::profile {
namespace {

std::int64_t read_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

const Moment& first_moment() {
  static const Moment first = Moment::now();
  return first;
}

}  // namespace

Moment Moment::now() {
  // The tightest of several readings: a thread may lose its core between the two clocks.
  Moment best;
  std::uint64_t width = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = pel::profile::ticks();
    const std::int64_t steady = read_ns(CLOCK_MONOTONIC), unix_time = read_ns(CLOCK_REALTIME);
    const std::uint64_t after = pel::profile::ticks();
    if (after - before >= width) continue;
    width = after - before;
    best = {before + width / 2, steady, unix_time};
  }
  return best;
}

void start_clock() { first_moment(); }

double ns_per_tick() {
  constexpr std::int64_t kMinNs = 10'000'000;
  const Moment& first = first_moment();
  Moment last = Moment::now();
  while (last.steady_ns - first.steady_ns < kMinNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    last = Moment::now();
  }
  return static_cast<double>(last.steady_ns - first.steady_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

}  // namespace pel::profile

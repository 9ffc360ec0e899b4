// Tiny calls on one device. A burst of a queue's calls is shorter than the queue, which is empty when it
// begins: what is timed is the call, not the kernel.
#pragma once

#include <algorithm>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/server.h"

namespace bench {

inline constexpr std::int64_t kBurst = 500;

// Nanoseconds of a call, over bursts.
template <class Call>
Case in_bursts(std::string_view name, pel::Device device, Call call) {
  Case timed(name, call);
  timed.measure = [device, repeat = timed.repeat](std::int64_t iters) {
    double ns = 0;
    std::int64_t done = 0;
    while (done < iters) {
      const std::int64_t now = std::min(kBurst, iters - done);
      pel::synchronize(device);
      ns += detail::nanoseconds_of(repeat, now) * static_cast<double>(now);
      done += now;
    }
    pel::synchronize(device);
    return ns / static_cast<double>(iters);
  };
  return timed;
}

inline std::vector<Case> device_cases(pel::Device device) {
  const pel::Tensor matrix = pel::ones({4, 4}, device), vector = pel::ones({4}, device);
  const pel::Tensor target = pel::empty({4, 4}, device);
  return {
      in_bursts("add", device, [=] { return pel::add(matrix, matrix); }),
      in_bursts("add_number", device, [=] { return pel::add(matrix, 2); }),
      in_bursts("copy", device, [=] { target.copy_(matrix); }),
      in_bursts("relu", device, [=] { return pel::relu(matrix); }),
      in_bursts("t", device, [=] { return matrix.t(); }),
      in_bursts("linear", device, [=] { return pel::linear(matrix, matrix, vector); }),
  };
}

}  // namespace bench

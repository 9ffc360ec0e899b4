// Launches of tiny kernels on OpenCL, many a call, timed without the kernels: the queue is empty when a call
// begins.
#pragma once

#include <pellucid/pellucid.h>

#include "../support/server.h"
#include "launches.h"

namespace bench {

template <class Call>
Case queued_launches(std::string_view name, Call call) {
  Case timed(name, call);
  timed.measure = [repeat = timed.repeat](std::int64_t iters) {
    double ns = 0;
    for (std::int64_t i = 0; i < iters; ++i) {
      pel::synchronize(pel::kOpenCl);
      ns += detail::nanoseconds_of(repeat, 1);
    }
    pel::synchronize(pel::kOpenCl);
    return ns / static_cast<double>(iters);
  };
  return timed;
}

inline Case eager_launches(std::string_view name) {
  const pel::Tensor x = pel::ones({4, 4}, pel::kOpenCl), y = pel::ones({4, 4}, pel::kOpenCl);
  return queued_launches(name, [=] {
    for (int i = 0; i < kLaunches; ++i) do_not_optimize(pel::add(x, y));
  });
}

}  // namespace bench

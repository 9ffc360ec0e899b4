#include "doctor/model/run_in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/has_threads.h"

namespace pel::doctor {

void run_in_parallel(std::size_t count, std::size_t max_at_once, FunctionRef<void(std::size_t)> visit) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !has_failed; i = next++) {
      try {
        visit(i);
      } catch (...) {
        errors[i] = std::current_exception();
        has_failed = true;
      }
    }
  };
  const std::size_t cores = kHasThreads ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  const std::size_t most = max_at_once == 0 ? cores : max_at_once;
  // Not parallel_for, which splits its range in advance: traces differ in length.
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min({most, cores, count}); ++i) threads.emplace_back(run);
  run();
  threads.clear();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace pel::doctor

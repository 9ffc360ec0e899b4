#include "doctor/model/each_at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace pel::doctor {

void each_at_once(std::size_t count, std::size_t most_at_once, FunctionRef<void(std::size_t)> visit) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !has_failed; i = next++) {
      try {
        visit(i);
      } catch (...) {
        errors[i] = std::current_exception();
        has_failed = true;
      }
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t most = most_at_once == 0 ? cores : most_at_once;
  // Threads of their own, because parallel_for cuts its range beforehand, and traces differ in length.
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min({most, cores, count}); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace pel::doctor

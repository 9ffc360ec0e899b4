// A request to end a diagnosis that nobody wants any more, from another thread.
#pragma once

#include <atomic>
#include <exception>

namespace pel::doctor {

// What a diagnosis throws when it was stopped. It is not an Error: nothing is wrong with the trace.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the diagnosis was stopped"; }
};

class StopFlag {
 public:
  void request() { is_requested_.store(true, std::memory_order_relaxed); }
  bool is_requested() const { return is_requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_requested_ = false;
};

// Throws Stopped if it is requested. Null: it never is.
inline void check_stop(const StopFlag* stop) {
  if (stop != nullptr && stop->is_requested()) throw Stopped();
}

}  // namespace pel::doctor

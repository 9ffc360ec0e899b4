// The parallel loops of a plan's steps, and on how many threads each step runs.
//
// Only the kernels know their loops, so the first run of a plan is watched, and the first one with another
// number of threads again. The number of threads follows from the loops by the pool's own rule (split_of).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pellucid/compile_explanation.h"
#include "pellucid/threads.h"

#include "base/thread_pool.h"

namespace pel::compiler {

struct StepLoop {
  std::size_t step;
  std::int64_t count;
  Grain grain;
};

// On how many threads of usable_threads() one of the steps runs, by its loops among these.
CompileExplanation::Threads threads_of(const std::vector<StepLoop>& loops, std::size_t step);

class StepLoops {
 public:
  // None before a run with the present number of threads. On one thread there are no loops to watch.
  std::optional<std::vector<StepLoop>> known() const {
    const int now = thread_count();
    if (now == 1) return std::vector<StepLoop>();
    const std::lock_guard lock(mutex_);
    if (threads_.load(std::memory_order_relaxed) != now) return std::nullopt;
    return loops_;
  }
  // Whether a run that begins now should be watched. Inside a piece of a loop there are no other loops.
  bool are_unknown() const {
    return threads_.load(std::memory_order_relaxed) != thread_count() && detail::loop_watcher == nullptr &&
           !detail::inside_piece;
  }

  // Watches the loops of this thread while in scope. Several threads may watch runs of one plan.
  class Watch final : public detail::LoopWatcher {
   public:
    // `step` is the step under way, which the run changes.
    Watch(StepLoops& to, const std::size_t& step) : to_(to), step_(step) { detail::loop_watcher = this; }
    ~Watch() override { detail::loop_watcher = nullptr; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    void loop(std::int64_t count, Grain grain, LoopSplit /*split*/) override {
      loops_.push_back({step_, count, grain});
    }
    void publish() {  // after a run without an error
      const std::lock_guard lock(to_.mutex_);
      to_.loops_ = std::move(loops_);
      to_.threads_.store(threads_, std::memory_order_relaxed);
    }

   private:
    StepLoops& to_;
    const std::size_t& step_;
    const int threads_ = thread_count();
    std::vector<StepLoop> loops_;
  };

 private:
  std::atomic<int> threads_ = 0;
  mutable std::mutex mutex_;
  std::vector<StepLoop> loops_;
};

}  // namespace pel::compiler

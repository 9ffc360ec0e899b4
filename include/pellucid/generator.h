// Random number generators. They are counter-based (Philox 4x32-10): element i of a result, in row-major
// order, is a function of the seed, of the number of earlier calls, and of i alone. So it is the same for any
// number of threads, any layout and any processor.
#pragma once

#include <atomic>
#include <cstdint>

#include "pellucid/api.h"

namespace pel {

// Any number of threads may draw from one generator; the order of their draws is up to them.
class PEL_API Generator {
 public:
  // The whole state of a generator, to be saved and restored.
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t offset = 0;  // calls served
    bool operator==(const State&) const = default;
  };

  explicit Generator(std::uint64_t seed = kDefaultSeed) : seed_(seed) {}
  explicit Generator(State state) : seed_(state.seed), offset_(state.offset) {}
  Generator(const Generator& other) : Generator(other.state()) {}
  Generator& operator=(const Generator& other) {
    set_state(other.state());
    return *this;
  }

  std::uint64_t seed() const { return seed_.load(std::memory_order_relaxed); }
  void manual_seed(std::uint64_t seed) { set_state({seed, 0}); }
  State state() const { return {seed(), offset_.load(std::memory_order_relaxed)}; }
  void set_state(State state) {
    seed_.store(state.seed, std::memory_order_relaxed);
    offset_.store(state.offset, std::memory_order_relaxed);
  }

  // A generator whose numbers are independent of this one's. Each fork is another; it counts as a call.
  Generator fork();

  // For ops: the state that one call uses up.
  State next() { return {seed(), offset_.fetch_add(1, std::memory_order_relaxed)}; }

  static constexpr std::uint64_t kDefaultSeed = 67280421310721;

 private:
  std::atomic<std::uint64_t> seed_;
  std::atomic<std::uint64_t> offset_ = 0;
};

// The process's own, which is the default argument of random ops.
PEL_API Generator& default_generator();
// Reseeds the process's own generator.
PEL_API void manual_seed(std::uint64_t seed);

}  // namespace pel

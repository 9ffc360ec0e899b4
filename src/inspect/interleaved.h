// Times several calls interleaved: a slow moment of the machine affects all of them, and the median over the
// turns ignores it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pel::inspect {

// Makes the given number of calls, one after the other.
using Loop = std::function<void(std::int64_t calls)>;
using Progress = std::function<void(const std::string& what, double done)>;

// The type is erased once per burst: the compiler can still inline the call itself. Its result lives until
// the end of the loop iteration, as in a user's loop.
template <class Call>
Loop loop_of(Call call) {
  return [call = std::move(call)](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      decltype(auto) result = call();
      asm volatile("" : : "r"(std::addressof(result)) : "memory");
    }
  };
}

double median(std::vector<double> values);  // 0 if empty

class Interleaved {
 public:
  explicit Interleaved(double burst_ns) : burst_ns_(burst_ns) {}

  // Returns the number to pass to median_ns.
  std::size_t add(Loop loop);
  // Adds a function that times itself and returns ns per call, once per turn.
  std::size_t add_timed(std::function<double(std::int64_t calls)> timed);
  // Long calls get fewer turns: stops after ten seconds, but runs at least three.
  void run(int turns, const Progress& progress = {});
  double median_ns(std::size_t number) const { return median(entries_[number].ns); }  // per call
  // Returns the median over turns of the whole minus its parts: less noisy than the difference of medians.
  double median_rest_ns(std::size_t whole, const std::vector<std::size_t>& parts) const;

 private:
  struct Entry {
    std::function<double(std::int64_t calls)> timed;
    std::int64_t calls = 1;  // in a burst
    std::vector<double> ns{};
  };
  double burst_ns_;
  std::vector<Entry> entries_;
};

}  // namespace pel::inspect

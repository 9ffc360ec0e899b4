// Times calls against each other in turns: a slow moment of the machine meets all of them, and a median over
// the turns leaves it out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pel::inspect {

// Makes so many calls, one after the other.
using Loop = std::function<void(std::int64_t calls)>;
using Progress = std::function<void(const std::string& what, double done)>;

// The type is erased once per burst: the call itself stays visible to the compiler. What it returns lives
// until the end of its turn of the loop, as in a user's.
template <class Call>
Loop loop_of(Call call) {
  return [call = std::move(call)](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      decltype(auto) result = call();
      asm volatile("" : : "r"(std::addressof(result)) : "memory");
    }
  };
}

double median(std::vector<double> values);  // 0 of none

class Interleaved {
 public:
  explicit Interleaved(double burst_ns) : burst_ns_(burst_ns) {}

  // The number by which its median is asked for.
  std::size_t add(Loop loop);
  // Something that times itself: gives ns per call, once a turn.
  std::size_t add_timed(std::function<double(std::int64_t calls)> timed);
  // Where calls are long, fewer turns: it ends after ten seconds, and three of them.
  void run(int turns, const Progress& progress = {});
  double median_ns(std::size_t number) const { return median(entries_[number].ns); }  // per call
  // Of what the parts leave of the whole in each turn: steadier than the difference of medians.
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

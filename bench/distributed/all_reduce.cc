// One rank of the benchmark: for each line "BYTES REPEATS" it makes so many all_reduces of f32, and prints
// the nanoseconds of the fastest and of the median one. driver.py starts the ranks.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;
  using Clock = std::chrono::steady_clock;
  const dist::Group world = dist::init();
  std::int64_t bytes = 0, repeats = 0;
  while (std::cin >> bytes >> repeats) {
    const Tensor x = ones({bytes / 4});
    std::vector<double> times;
    for (std::int64_t i = -1; i < repeats; ++i) {  // the first one is not counted
      const Clock::time_point began = Clock::now();
      const Tensor sum = all_reduce(x, world);
      if (i >= 0) times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began).count());
    }
    std::ranges::sort(times);
    std::cout << times.front() << " " << times[times.size() / 2] << std::endl;
  }
}

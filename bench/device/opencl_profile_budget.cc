// The same launches without a Profile, and half a microsecond more for each: what a Profile may add.
#include "queued_launches.h"

int main(int argc, char** argv) {
  constexpr double kBudgetNs = 500;
  bench::Case add = bench::eager_launches("add");
  add.measure = [measure = add.measure](std::int64_t iters) {
    return measure(iters) + kBudgetNs * bench::kLaunches;
  };
  return bench::serve(argc, argv, {add});
}

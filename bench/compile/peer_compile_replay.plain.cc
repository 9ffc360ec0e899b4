// Instead of a peer: the 50 ns that a plan may add to a kernel.
#include "../support/server.h"

int main(int argc, char** argv) {
  bench::Case budget("a_kernel", [] {});
  budget.measure = [](std::int64_t) { return 50.0; };
  return bench::serve(argc, argv, {&budget, 1});
}

// Instead of a peer: the millisecond that a plan for new sizes may take.
#include "../support/server.h"

int main(int argc, char** argv) {
  bench::Case budget("gpt2_small_new_length", [] {});
  budget.measure = [](std::int64_t) { return 1e6; };
  return bench::serve(argc, argv, {&budget, 1});
}

// Instead of a peer: the memory that a trace of 5 GB may take.
#include <vector>

#include "../support/server.h"

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (const char* name : {"reader_5GB", "diagnosis_5GB"}) {
    cases.emplace_back(name, [] {});
    cases.back().measure = [](std::int64_t) { return 1e9; };
  }
  return bench::serve(argc, argv, cases);
}

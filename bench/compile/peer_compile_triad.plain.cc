// As many bytes as gelu(a) * b reads and writes, by the faster triad.
#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/triad_loops.h"

int main(int argc, char** argv) {
  constexpr std::int64_t kElements = 8192 * 3072;
  const bench::Lazy arrays([] { return bench::TriadArrays(kElements); });
  std::vector<bench::Case> cases;
  for (const auto& [dtype_name, bytes] : {std::pair{"f32", 4}, std::pair{"bf16", 2}}) {
    for (const int threads : {1, 2}) {
      const std::string name = "gelu_mul_" + std::string(dtype_name) + "_" + std::to_string(threads) + "t";
      cases.push_back(bench::triad_case(name, arrays, kElements * bytes / 4, threads));
    }
  }
  return bench::serve(argc, argv, cases);
}

// As many bytes as the functions of compile_reductions.cc must move, by the faster triad.
#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/triad_loops.h"

namespace {

constexpr std::int64_t kRows = 8192, kColumns = 768, kHeads = 32, kClasses = 32000;

struct Traffic {
  const char* name;
  std::int64_t floats;  // read and written, each once
};
constexpr Traffic kTraffic[] = {
    {"layer_norm_residual", 4 * kRows* kColumns + 2 * kColumns},
    {"rms_norm", 2 * kRows* kColumns + kColumns},
    {"softmax_mask", 2 * kRows* kColumns + kRows / kHeads* kColumns},
    {"cross_entropy_32000", kRows* kClasses + 2 * kRows},  // a target has 8 bytes
    {"gelu_mul_sum", 2 * kRows* kColumns + kRows},
};
constexpr std::int64_t kMaxFloats = kTraffic[3].floats;

}  // namespace

int main(int argc, char** argv) {
  const bench::Lazy arrays([] { return bench::TriadArrays(kMaxFloats / 3); });
  std::vector<bench::Case> cases;
  for (const Traffic& traffic : kTraffic)
    cases.push_back(bench::triad_case(traffic.name + std::string("_f32_2t"), arrays, traffic.floats / 48 * 16,
                                      /*threads=*/2));
  return bench::serve(argc, argv, cases);
}

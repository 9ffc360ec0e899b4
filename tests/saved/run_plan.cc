// Runs saved plans in a process that links the runtime library alone.
//   run_plan bits PLAN CASES       compares results with those of a file, bit by bit
//   run_plan decode PLAN SIZES PROMPT COUNT
//                                  prints the likeliest tokens after those of the file PROMPT
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "pellucid/error.h"
#include "pellucid/io.h"
#include "pellucid/load_compiled.h"

#include "saved/generate_tokens.h"

namespace {

using namespace pel;

bool has_same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || to_string(a.sizes()) != to_string(b.sizes()) || !a.is_contiguous())
    return false;
  const auto bytes = static_cast<std::size_t>(b.numel().value() * size_bytes(b.dtype()));
  return std::memcmp(a.raw_data(), b.raw_data(), bytes) == 0;
}

int compare_bits(const LoadedFunction& plan, const std::string& path) {
  const io::SafetensorsFile file(path);
  int calls = 0, differing = 0;
  for (; file.has(std::to_string(calls) + ".input.0"); ++calls) {
    const auto list = [&](const std::string& kind) {
      std::vector<Tensor> tensors;
      for (int i = 0;; ++i) {
        const std::string name = std::to_string(calls) + "." + kind + "." + std::to_string(i);
        if (!file.has(name)) return tensors;
        tensors.push_back(file.tensor(name));
      }
    };
    const std::vector<Tensor> actual = plan(list("input")), expected = list("output");
    bool is_same = actual.size() == expected.size();
    for (std::size_t i = 0; is_same && i < actual.size(); ++i)
      is_same = has_same_bits(actual[i], expected[i]);
    differing += is_same ? 0 : 1;
  }
  std::printf("%d calls, %d differ\n", calls, differing);
  return calls > 0 && differing == 0 ? 0 : 1;
}

std::vector<std::int64_t> numbers_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istream_iterator<std::int64_t>(file), {}};
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string command = argc > 3 ? argv[1] : "";
  if (command == "bits") return compare_bits(load_compiled(argv[2]), argv[3]);
  if (command != "decode" || argc != 6) return 2;
  const auto begin = std::chrono::steady_clock::now();
  const LoadedFunction plan = load_compiled(argv[2]);
  const std::chrono::duration<double, std::milli> loading = std::chrono::steady_clock::now() - begin;
  const std::vector<std::int64_t> sizes = numbers_of(argv[3]);
  const auto text =
      test::generate_tokens([&](const std::vector<Tensor>& in) { return plan(in); }, numbers_of(argv[4]),
                            std::stoul(argv[5]), {sizes.at(0), sizes.at(1), sizes.at(2), sizes.at(3)});
  for (const std::int64_t token : text) std::printf("%lld ", static_cast<long long>(token));
  std::fprintf(stderr, "loading took %.1f ms, %zu plans\n", loading.count(), plan.plans());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}

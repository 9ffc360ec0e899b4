// One rank of the benchmark: divided_model GGUF. For each line "TOKENS REPEATS" it generates a text so many
// times, and prints the nanoseconds a token of the fastest and of the median text. driver.py starts the
// ranks.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

#include <pellucid/pellucid.h>

int main(int argc, char** argv) {
  using namespace pel;
  using Clock = std::chrono::steady_clock;
  if (argc != 2) return 2;
  const dist::Group world = dist::init();
  const auto model = io::load_llama(io::GgufFile(argv[1]), kBF16);
  model->shard(world);
  const nn::CompiledLlama fast(*model);
  const std::vector<std::vector<std::int64_t>> prompts = {{504, 2365, 282, 4649, 314}};
  std::int64_t tokens = 0, repeats = 0;
  while (std::cin >> tokens >> repeats) {
    std::vector<double> times;
    for (std::int64_t i = -1; i < repeats; ++i) {  // the first one is not counted
      const Clock::time_point began = Clock::now();
      const auto texts = nn::generate(fast, prompts, {.max_tokens = tokens});
      const auto made = static_cast<double>(texts[0].size());
      if (i >= 0)
        times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began).count() / made);
    }
    std::ranges::sort(times);
    std::cout << times.front() << " " << times[times.size() / 2] << std::endl;
  }
}

#include "pellucid/generator.h"

#include "base/philox.h"

namespace pel {

Generator Generator::fork() {
  const State state = next();
  // The last block of the call's own stream: no result is so long.
  const auto words = philox({state.seed, state.offset}, ~std::uint64_t{0});
  return Generator(std::uint64_t{words[1]} << 32 | words[0]);
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace pel

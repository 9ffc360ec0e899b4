#include "ops/shared/random.h"

namespace pel {
namespace {

// The same 64 bits.
Scalar number(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

}  // namespace

Draw draw_from(Generator& generator) {
  if (&generator == &default_generator()) return {};
  const Generator::State state = generator.next();
  return {number(state.seed), number(state.offset)};
}

StreamNumbers stream_numbers(const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  PEL_CHECK(seed.has_value() == offset.has_value(), ValueError,
            "a seed and an offset name a stream together; pass both or none");
  if (seed) return {*seed, *offset};
  const Generator::State state = default_generator().next();
  return {number(state.seed), number(state.offset)};
}

void check_probability(double p) {
  PEL_CHECK(p >= 0 && p <= 1, ValueError, "p is {}; a probability is from 0 to 1", p);
}

}  // namespace pel

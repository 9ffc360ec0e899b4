// Arguments for tests.
#include <numeric>
#include <vector>

#include "pellucid/extend/vjp.h"

namespace pel {
namespace {

std::size_t count_of(Dims sizes) {
  std::int64_t count = 1;
  for (const Dim size : sizes) count *= size.value();
  return static_cast<std::size_t>(count);
}

}  // namespace

std::uint64_t Sampler::next() {  // splitmix64
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Tensor Sampler::operator()(Dims sizes, double low, double high) {
  std::vector<double> values(count_of(sizes));
  for (double& value : values) value = low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  return from_data(values, sizes);
}

Tensor Sampler::indices(std::int64_t below, Dims sizes) {
  std::vector<std::int64_t> values(count_of(sizes));
  for (std::int64_t& value : values)
    value = static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(below));
  return from_data(values, sizes);
}

Tensor Sampler::permuted(std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[next() % i]);
  return from_data(values, {count});
}

Tensor Sampler::condition(Dims sizes) {
  std::vector<std::int64_t> values(count_of(sizes));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(next() % 2);
  return from_data(values, sizes).to(kBool);
}

Tensor Sampler::apart(Dims sizes) {
  const Tensor order = permuted(static_cast<std::int64_t>(count_of(sizes)));
  const auto* at = order.data<const std::int64_t>();
  std::vector<double> values(count_of(sizes));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.3 * (static_cast<double>(at[i]) - static_cast<double>(values.size()) / 2) + 0.1;
  return from_data(values, sizes);
}

}  // namespace pel

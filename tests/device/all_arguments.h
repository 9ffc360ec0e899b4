// Functions of one f32 on OpenCL against the CPU, over arguments given by their bits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pellucid/pellucid.h"

namespace pel::test {

struct TestedFunction {
  const char* name;
  std::function<Tensor(const Tensor&)> run;
};
inline std::vector<TestedFunction> tested_functions() {
  return {{"exp", [](const Tensor& x) { return exp(x); }},
          {"log", [](const Tensor& x) { return log(x); }},
          {"tanh", [](const Tensor& x) { return tanh(x); }},
          {"erf", [](const Tensor& x) { return erf(x); }},
          {"gelu", [](const Tensor& x) { return gelu(x); }},
          {"gelu:tanh", [](const Tensor& x) { return gelu(x, GeluApproximate::Tanh); }}};
}

// Compares f over every `stride`-th argument, all 2^32 if that is 1. Returns how many differ and the first;
// nothing if none does. All NaN are equal.
inline std::string differing_arguments(const TestedFunction& f, std::uint64_t stride) {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  constexpr std::size_t kBlock = 1 << 22;
  std::vector<float> block;
  std::uint64_t differing = 0, tested = 0;
  std::uint32_t first = 0;
  for (std::uint64_t next = 0; next < kAll;) {
    block.clear();
    for (; next < kAll && block.size() < kBlock; next += stride)
      block.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(next)));
    const auto count = static_cast<std::int64_t>(block.size());
    const Tensor x = from_data(block, {count});
    const Tensor given = f.run(x.to(kOpenCl)).to(kCpu), wanted = f.run(x);
    const auto *a = wanted.data<const float>(), *b = given.data<const float>();
    tested += block.size();
    if (std::memcmp(a, b, block.size() * sizeof(float)) == 0) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (std::memcmp(a + i, b + i, sizeof(float)) == 0 || (a[i] != a[i] && b[i] != b[i])) continue;
      if (differing++ == 0) first = std::bit_cast<std::uint32_t>(block[i]);
    }
  }
  if (differing == 0) return {};
  return fmt::format("{} of {} arguments have other bits, the first is {:#010x}", differing, tested, first);
}

}  // namespace pel::test

// Reproducible random tests: PELLUCID_SEED=N chooses the seed, PELLUCID_TEST_SHARE=N runs 1/N of them. In a
// test with numbered cases, PELLUCID_CASE=N runs only that case.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "support/environment.h"

namespace pel::test {

class Random {
 public:
  // Prints the seed and how to run this test with it again.
  Random() : seed_(number_from("PELLUCID_SEED", 20240229)), engine_(seed_) {
    std::cout << repro() << std::endl;
  }
  // Returns the generator of case `n`: the same regardless of the cases before.
  Random of_case(std::uint64_t n) const { return Random(seed_, n); }

  std::string repro() const {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    return "PELLUCID_SEED=" + std::to_string(seed_) +
           (case_ ? " PELLUCID_CASE=" + std::to_string(*case_) : "") + " " + program() +
           " --gtest_filter=" + test->test_suite_name() + "." + test->name();
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::int64_t pick(std::initializer_list<std::int64_t> from) {
    return from.begin()[between(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  bool one_in(int n) { return between(1, n) == 1; }
  std::uint32_t bits32() { return static_cast<std::uint32_t>(between(0, UINT32_MAX)); }

  static int share_of(int iterations) {
    const auto share = static_cast<int>(test_share());
    return std::max(1, iterations / std::max(1, share));
  }

 private:
  Random(std::uint64_t seed, std::uint64_t n)
      : seed_(seed), case_(n), engine_(seed * 0x9E3779B97F4A7C15u + n) {}
  static std::string program() {
    const std::string path = testing::internal::GetArgvs().at(0);
    return path.substr(path.find_last_of('/') + 1);
  }
  std::uint64_t seed_;
  std::optional<std::uint64_t> case_;
  std::mt19937_64 engine_;
};

}  // namespace pel::test

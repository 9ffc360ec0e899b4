// Functions of one f32 on OpenCL over all 2^32 arguments: the bits of the CPU.
// PELLUCID_EXHAUSTIVE_OPS=exp,gelu runs only those; PELLUCID_TEST_SHARE=N tests every N-th argument.
#include "device/opencl.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "device/all_arguments.h"
#include "support/environment.h"

namespace pel::exhaustive {
namespace {

class ExhaustiveOpenCl : public test::OpenClTest {};

bool is_selected(const std::string& name) {
  const char* const text = std::getenv("PELLUCID_EXHAUSTIVE_OPS");
  if (text == nullptr || *text == '\0') return true;
  std::istringstream names(text);
  for (std::string each; std::getline(names, each, ',');)
    if (each == name) return true;
  return false;
}

TEST_F(ExhaustiveOpenCl, EveryArgumentHasTheBitsOfTheCpu) {
  const NoGrad no_grad;
  for (const test::TestedFunction& function : test::tested_functions()) {
    if (!is_selected(function.name)) continue;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(test::differing_arguments(function, static_cast<std::uint64_t>(test::test_share())), "")
        << function.name << "\n  repro: PELLUCID_EXHAUSTIVE_OPS=" << function.name
        << " ./dev test exhaustive";
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
    fmt::print("{:<16} on OpenCL {:6.1f} s\n", function.name, time.count());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace pel::exhaustive

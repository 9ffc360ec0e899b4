// Kernels compiled in process.
#include "codegen/llvm/jit.h"

#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/isa.h"

namespace pel::codegen {
namespace {

using scalar::ScalarBuilder;
using scalar::Term;

LoopKernel product(Isa isa) {
  ScalarBuilder builder;
  const Term a = builder.input(kF32), b = builder.input(kF32);
  const Term result = a * b;
  return lower_pointwise("product", builder.finish({&result, 1}), isa);
}

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cpu::best_isa().has_value()) << "this processor has no AVX2";
    isa = *cpu::best_isa();
  }
  Isa isa{};
};

TEST_F(Jit, WritesNothingAfterTheLastElement) {
  const CompiledKernels compiled = compile_in_process({product(isa)}, isa);
  for (std::int64_t count = 1; count <= 200; ++count) {
    std::vector<float> a(static_cast<std::size_t>(count)), out(a.size() + 64, -1.0f);
    std::iota(a.begin(), a.end(), 1.0f);
    void* data[] = {out.data(), a.data(), a.data()};
    const std::int64_t strides[] = {1, 1, 1};
    ASSERT_EQ(compiled[0](count, data, strides, nullptr), 0u);
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], i < a.size() ? a[i] * a[i] : -1.0f) << i << " of " << count;
  }
}

TEST_F(Jit, AStrideOfZeroRepeatsAnElement) {
  const CompiledKernels compiled = compile_in_process({product(isa)}, isa);
  std::vector<float> a(100), out(100);
  std::iota(a.begin(), a.end(), 1.0f);
  const float three = 3;
  void* data[] = {out.data(), a.data(), const_cast<float*>(&three)};
  const std::int64_t strides[] = {1, 1, 0};
  compiled[0](100, data, strides, nullptr);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], 3 * a[i]);
}

// The permissions of the mapping that contains an address, and whether any mapping is writable and
// executable.
struct Maps {
  std::string permissions;
  bool any_writable_and_executable = false;
};
Maps read_maps(const void* address) {
  Maps maps;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> rights;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at >= begin && at < end) maps.permissions = rights;
    if (rights.find('w') != std::string::npos && rights.find('x') != std::string::npos)
      maps.any_writable_and_executable = true;
  }
  return maps;
}

TEST_F(Jit, NoPageIsWritableAndExecutable) {
  const CompiledKernels compiled = compile_in_process({product(isa)}, isa);
  const Maps maps = read_maps(reinterpret_cast<const void*>(compiled[0]));
  EXPECT_EQ(maps.permissions, "r-xp");
  EXPECT_FALSE(maps.any_writable_and_executable);
}

TEST_F(Jit, NamesMayRepeatAndCodeIsFreedWithItsOwner) {
  auto first = std::make_unique<CompiledKernels>(compile_in_process({product(isa)}, isa));
  const CompiledKernels second = compile_in_process({product(isa)}, isa);
  EXPECT_NE((*first)[0], second[0]);
  first.reset();
  float a = 3, out = 0;
  void* data[] = {&out, &a, &a};
  const std::int64_t strides[] = {1, 1, 1};
  second[0](1, data, strides, nullptr);
  EXPECT_EQ(out, 9);
}

}  // namespace
}  // namespace pel::codegen

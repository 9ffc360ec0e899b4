// The PTX interpreter of the test driver: barriers, refusals, faults.
#include <map>

#include <gtest/gtest.h>

#include "backends/cuda/nvrtc.h"
#include "support/cuda_driver/ptx_module.h"
#include "support/random.h"

namespace pel::test::ptx {
namespace {

bool allows_all(std::uint64_t, std::size_t) { return true; }

constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";
std::string kernel(const std::string& body) {
  return std::string(kHead) +
         ".visible .entry f(\n.param .u64 f_param_0\n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n" +
         ".reg .f32 %f<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [f_param_0];\ncvta.to.global.u64 %rd2, "
         "%rd1;\n" +
         body + "ret;\n}\n";
}

class PtxOfCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string& refusal = cuda::nvrtc_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
  }
};

// Each thread writes its number, and reads that of the opposite one.
std::string reversal(const char* between) {
  return std::string(
             "extern \"C\" __global__ void f(int* to) {\n  __shared__ int all[64];\n"
             "  all[threadIdx.x] = 100 + threadIdx.x;\n  ") +
         between + "\n  to[threadIdx.x] = all[63 - threadIdx.x];\n}\n";
}
int wrong_elements(const std::string& text, std::uint64_t seed) {
  const Module module(cuda::compile_to_ptx("f", text, "compute_80"));
  std::array<int, 64> to{};
  int* const address = to.data();
  const void* parameters[] = {&address};
  run(*module.find("f"), {1, 1, 1}, {64, 1, 1}, parameters, allows_all, seed);
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += to[static_cast<std::size_t>(i)] != 163 - i ? 1 : 0;
  return wrong;
}

TEST_F(PtxOfCuda, ThreadsMeetAtABarrier) {
  Random random;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(wrong_elements(reversal("__syncthreads();"), random.bits32()), 0);
}
TEST_F(PtxOfCuda, AMissingBarrierIsFound) {
  Random random;
  for (int i = 0; i < 20; ++i) EXPECT_GT(wrong_elements(reversal(""), random.bits32()), 0);
}

TEST(Ptx, InstructionsThatMayHaveOtherBitsAreRefused) {
  for (const char* const bad : {"add.f32 %f1, %f2, %f3;\n", "ex2.approx.f32 %f1, %f2;\n",
                                "mul.rn.ftz.f32 %f1, %f2, %f3;\n", "@%p1 fma.rz.f32 %f1, %f2, %f3, %f4;\n"})
    EXPECT_THROW(Module module(kernel(bad)), PtxError) << bad;
  Module module(kernel("add.rn.f32 %f1, %f2, %f3;\n"));
}

TEST(Ptx, WhatIsNotKnownIsRefused) {
  EXPECT_THROW(Module module(kernel("vote.sync.any.pred %p1, %p2, -1;\n")), PtxError);
  EXPECT_THROW(Module module(kernel("mov.u32 %r1, %clock;\n")), PtxError);
  EXPECT_THROW(Module module("nonsense"), PtxError);
}

TEST(Ptx, MemoryThatIsNotAllocatedIsAFault) {
  const Module module(
      kernel("mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
             "st.global.u32 [%rd4], %r1;\n"));
  std::array<std::uint32_t, 8> memory{};
  const auto first = reinterpret_cast<std::uint64_t>(memory.data());
  const auto is_allocated = [&](std::uint64_t address, std::size_t size) {
    return address >= first && address + size <= first + sizeof memory;
  };
  const void* parameters[] = {&first};
  run(*module.find("f"), {1, 1, 1}, {8, 1, 1}, parameters, is_allocated, 1);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(memory[i], i);
  EXPECT_THROW(run(*module.find("f"), {1, 1, 1}, {9, 1, 1}, parameters, is_allocated, 1), MemoryFault);
}

TEST(Ptx, ABarrierThatSomeThreadsDoNotReachIsAnError) {
  const Module module(
      kernel("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L__done;\nbar.sync 0;\n$L__done:\n"));
  const std::uint64_t none = 0;
  const void* parameters[] = {&none};
  EXPECT_THROW(run(*module.find("f"), {1, 1, 1}, {2, 1, 1}, parameters, allows_all, 1), PtxError);
}

// Rounding, NaN, saturation and the sign of zero, by hand.
TEST(Ptx, ArithmeticIsThatOfTheManual) {
  const auto result = [](const std::string& body) {
    const Module module(kernel(body + "st.global.b32 [%rd2], %r1;\n"));
    std::uint32_t value = 0;
    std::uint32_t* const address = &value;
    const void* parameters[] = {&address};
    run(*module.find("f"), {1, 1, 1}, {1, 1, 1}, parameters, allows_all, 1);
    return value;
  };
  EXPECT_EQ(result("min.f32 %f1, 0f80000000, 0f00000000;\nmov.b32 %r1, %f1;\n"), 0x80000000U);
  EXPECT_EQ(result("max.f32 %f1, 0f7fc00000, 0f3f800000;\nmov.b32 %r1, %f1;\n"), 0x3f800000U);
  EXPECT_EQ(result("max.NaN.f32 %f1, 0f7fc00000, 0f3f800000;\nmov.b32 %r1, %f1;\n") & 0x7fc00000U,
            0x7fc00000U);
  EXPECT_EQ(result("cvt.rzi.s32.f32 %r1, 0f4f800000;\n"), 0x7fffffffU);
  EXPECT_EQ(result("cvt.rni.f32.f32 %f1, 0f40200000;\nmov.b32 %r1, %f1;\n"), 0x40000000U);  // 2.5 to 2
  EXPECT_EQ(result("shr.s32 %r1, 0x80000000, 40;\n"), 0xffffffffU);
  EXPECT_EQ(result("shl.b32 %r1, 1, 32;\n"), 0U);
  EXPECT_EQ(result("mul.hi.s32 %r1, -1, 2;\n"), 0xffffffffU);
  EXPECT_EQ(result("mul.hi.u32 %r1, -1, 2;\n"), 1U);
  EXPECT_EQ(result("bfe.s32 %r1, 0xf0, 4, 4;\n"), 0xffffffffU);
  EXPECT_EQ(result("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;\n"), 0x77553311U);
  EXPECT_EQ(result("mov.u32 %r2, 5;\nsetp.lt.s32 %p1|%p2, %r2, 3;\nselp.b32 %r1, 1, 2, %p2;\n"), 1U);
}

}  // namespace
}  // namespace pel::test::ptx

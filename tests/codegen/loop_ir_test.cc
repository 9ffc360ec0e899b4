// Lowering, verification and printing of loops.
#include "codegen/loop_ir.h"

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "support/errors.h"

namespace pel::codegen {
namespace {

std::string message_of(const auto& f) { return test::thrown_by<InternalError>(f).what(); }

using scalar::ScalarBuilder;
using scalar::ScalarExpr;
using scalar::Term;

ScalarExpr product(DType type) {
  ScalarBuilder builder;
  const Term a = builder.input(type), b = builder.input(type);
  const Term result = a * b;
  return builder.finish({&result, 1});
}
ScalarExpr identity(DType type) {
  ScalarBuilder builder;
  const Term result = builder.input(type);
  return builder.finish({&result, 1});
}

TEST(LoopIr, PrintsTheWholeKernel) {
  EXPECT_EQ(to_string(lower_pointwise("mul_f64", product(kF64), Isa::Avx512)),
            "kernel mul_f64(n, out0: f64, in0: f64, in1: f64)\n"
            "  for i in 0..n by 32 lanes\n"
            "    %0 = input f64 0\n"
            "    %1 = input f64 1\n"
            "    %2 = mul f64 %0, %1\n"
            "    result %2\n");
}

TEST(LoopIr, ShortBodiesAreUnrolledAndLongOnesAreNot) {
  EXPECT_EQ(lower_pointwise("mul", product(kF32), Isa::Avx512).lanes, 64);
  EXPECT_EQ(lower_pointwise("mul", product(kF32), Isa::Avx2).lanes, 32);
  ScalarBuilder builder;
  Term x = builder.input(kF32);
  for (int i = 0; i < 60; ++i) x = fma(x, 1.5, 0.25);
  EXPECT_EQ(lower_pointwise("long", builder.finish({&x, 1}), Isa::Avx512).lanes, 16);
}

TEST(LoopIr, AReductionHasTheSameLanesOnEveryIsa) {
  ScalarBuilder builder;
  const Term a = builder.input(kF32), b = builder.input(kF32);
  const Term sum = a + b;
  const LoopKernel kernel = lower_fold("sum_f32", identity(kF32), {builder.finish({&sum, 1}), 0});
  EXPECT_EQ(kernel.lanes, Fold::kLanes);
  EXPECT_EQ(to_string(kernel),
            "kernel sum_f32(n, out0: f32, in0: f32)\n"
            "  for i in 0..n by 32 lanes\n"
            "    %0 = input f32 0\n"
            "    result %0\n"
            "  fold 32 lanes, halves pairwise\n"
            "    %0 = input f32 0\n"
            "    %1 = input f32 1\n"
            "    %2 = add f32 %0, %1\n"
            "    result %2\n");
}

TEST(LoopIr, TheVerifierFindsABrokenKernel) {
  LoopKernel kernel = lower_pointwise("mul", product(kF32), Isa::Avx512);
  kernel.lanes = 24;
  EXPECT_NE(message_of([&] { verify(kernel); }).find("power of two"), std::string::npos);
  kernel.lanes = 32;
  kernel.fold = Fold{product(kF64), 0};
  EXPECT_NE(message_of([&] { verify(kernel); }).find("two values of the body's type"), std::string::npos);
}

}  // namespace
}  // namespace pel::codegen

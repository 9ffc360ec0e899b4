// Matmuls that take elementwise calls over their results: which, why not, and their bits.
#include "compile/passes/fuse_gemm.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/packing.h"
#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "compile/equal_bits.h"
#include "compile/run_pass.h"
#include "packing/packing_cache.h"

namespace pel {
namespace {

using test::Passed, test::run_pass;

TEST(FuseGemm, TakesTheOnlyConsumerThroughAView) {
  const Passed after = run_pass(compiler::fuse_gemm, R"(graph(%0: f32[s0, s1], %1: f32[s1, s2], %2: f32[s2]) {
  %3 = mm(%0, %1) : f32[s0, s2]
  %4 = unsqueeze(%3, 0) : f32[1, s0, s2]
  %5 = add(%4, %2, 1) : f32[1, s0, s2]
  return %5
})");
  EXPECT_NE(after.text.find("%5 = gemm_fused_mm_unsqueeze_add_0(%0, %1, %2)"), std::string::npos)
      << after.text;
  EXPECT_NE(after.why.find("gemm_fused_mm_unsqueeze_add_0 takes add: not written to memory: %3"),
            std::string::npos)
      << after.why;
}

TEST(FuseGemm, SaysWhyNot) {
  const auto why = [](const char* rest) {
    return run_pass(compiler::fuse_gemm,
                    (std::string("graph(%0: f32[s0, s1], %1: f32[s1, s2], %2: f32[s0, 1]) {\n"
                                 "  %3 = mm(%0, %1) : f32[s0, s2]\n") +
                     rest)
                        .c_str())
        .why;
  };
  EXPECT_NE(
      why("  %4 = sum(%3, [0], false, none) : f32[s2]\n  %5 = neg(%3) : f32[s0, s2]\n  return %4, %5\n}")
          .find("%3 has other consumers, so it must be written to memory"),
      std::string::npos);
  EXPECT_NE(why("  %4 = add(%3, %2, 1) : f32[s0, s2]\n  return %4\n}")
                .find("%2, which add reads too, is not a matrix of that size"),
            std::string::npos);
  EXPECT_NE(why("  %4 = view(%3, [-1]) : f32[s0*s2]\n  %5 = neg(%4) : f32[s0*s2]\n  return %5\n}")
                .find("a view between them changes its columns"),
            std::string::npos);
  EXPECT_NE(why("  %4 = select(%3, 0, 0) : f32[s2]\n  %5 = neg(%4) : f32[s2]\n  return %5\n}")
                .find("a view between them leaves out rows"),
            std::string::npos);
  EXPECT_NE(why("  %4 = slice(%3, 0, 1, 3, 1) : f32[2, s2]\n  %5 = neg(%4) : f32[2, s2]\n  return %5\n}")
                .find("a view between them leaves out rows"),
            std::string::npos);
}

// Calls f eager and compiled with inputs of [rows, width], and counts kernels.
template <class F>
void expect_same_bits(const F& f, DType dtype, std::int64_t width, std::uint64_t kernels) {
  const auto fast = compile(f);
  const int before = thread_count();
  for (const std::int64_t rows : {5, 1, 64, 200}) {
    const Tensor x = to_copy(randn({rows, width}), dtype);
    const Tensor expected = f(x);
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      const std::uint64_t launched = launch_count();
      const Tensor result = fast(x);
      EXPECT_EQ(launch_count() - launched, kernels) << name(dtype) << ", " << rows << " rows";
      EXPECT_TRUE(test::equal_bits(result, expected)) << name(dtype) << ", " << rows << " rows";
    }
    set_thread_count(before);
  }
}

TEST(FuseGemm, HasTheBitsOfEager) {
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    const auto noise = [dtype](std::vector<Dim> sizes) { return to_copy(mul(randn(sizes), 0.1), dtype); };
    const Tensor gate = noise({96, 48}), up = noise({96, 48}), down = noise({48, 96}), bias = noise({96}),
                 last = noise({48}), square = noise({48, 48});
    expect_same_bits([=](const Tensor& x) { return linear(mul(gelu(linear(x, gate)), linear(x, up)), down); },
                     dtype, 48, 2);
    expect_same_bits(
        [=](const Tensor& x) {
          return add(x, linear(relu(linear(x.unsqueeze(0), gate, bias)), down, last)).select(0, 0);
        },
        dtype, 48, 2);
    // One row of the result: the other rows are not written.
    expect_same_bits([=](const Tensor& x) { return tanh(linear(x, square).select(0, 0)); }, dtype, 48, 2);
    expect_same_bits([=](const Tensor& x) { return tanh(linear(x, square).slice(0, 0, 1)); }, dtype, 48, 2);
    // The result replaces a factor: it is not computed in place.
    expect_same_bits(
        [=](const Tensor& x) {
          const Tensor y = mul(x, 2);
          y.add_(linear(y, square));
          return y;
        },
        dtype, 48, 3);
    // Columns of results that are narrow, so that the matmul is transposed.
    const Tensor narrow = noise({3, 48});
    expect_same_bits([=](const Tensor& x) { return tanh(linear(x, narrow)); }, dtype, 48, 1);
  }
}

TEST(FuseGemm, WritesTheSumsForThoseThatReadThemLater) {
  const Passed after = run_pass(compiler::fuse_gemm, R"(graph(%0: f32[s0, s1], %1: f32[s1, s2]) {
  %3 = mm(%0, %1) : f32[s0, s2]
  %4 = gelu(%3, 'none') : f32[s0, s2]
  %5 = sum(%3, [0], false, none) : f32[s2]
  return %4, %5
})");
  EXPECT_NE(after.text.find("%3, %4 = gemm_fused_mm_gelu_0(%0, %1)"), std::string::npos) << after.text;
  EXPECT_NE(after.why.find("gemm_fused_mm_gelu_0 takes gelu: the result of the matmul is not read again"),
            std::string::npos)
      << after.why;
  const NoGrad no_grad;
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    for (const std::int64_t hidden : {96, 3}) {
      const auto noise = [&](std::vector<Dim> sizes) { return to_copy(mul(randn(sizes), 0.1), dtype); };
      const Tensor gate = noise({hidden, 48}), up = noise({hidden, 48}), bias = noise({hidden});
      const auto f = [=](const Tensor& x) {
        const Tensor a = linear(x, gate), b = linear(x, up), c = linear(x, up, bias);
        const Tensor gated = silu(a), product = mul(gated, b), active = gelu(c);
        return std::vector<Tensor>{product, active, a, b, c, gated};
      };
      const auto fast = compile(f);
      for (const std::int64_t rows : {5, 1, 64, 200}) {
        const Tensor x = to_copy(randn({rows, 48}), dtype);
        const std::vector<Tensor> expected = f(x);
        for (int call = 0; call < 3; ++call) {
          const std::vector<Tensor> results = fast(x);
          for (std::size_t i = 0; i < results.size(); ++i)
            EXPECT_TRUE(test::equal_bits(results[i], expected[i]))
                << name(dtype) << " " << rows << " rows, result " << i;
          EXPECT_EQ(fast.kernels(x).size(), 2u);
        }
      }
    }
  }
}

TEST(FuseGemm, TwoMatmulsOfOneMatrixAreOneKernel) {
  const auto of = [](const char* second) {
    return run_pass(
        compiler::fuse_gemm,
        (std::string("graph(%0: f32[s0, s1], %1: f32[s1, s2], %2: f32[s1, s2], %3: f32[s0, s1]) {\n"
                     "  %4 = mm(%0, %1) : f32[s0, s2]\n") +
         second + "  %6 = mul(%4, %5) : f32[s0, s2]\n  return %6\n}")
            .c_str());
  };
  const Passed together = of("  %5 = mm(%0, %2) : f32[s0, s2]\n");
  EXPECT_NE(together.text.find("%6 = gemm_fused_mm_mul_0(%0, %1, %2)"), std::string::npos) << together.text;
  EXPECT_NE(
      together.why.find("gemm_fused_mm_mul_0 takes mul, over the sums of two matmuls of one matrix: not "
                        "written to memory: %4, %5"),
      std::string::npos)
      << together.why;
  const Passed apart = of("  %5 = mm(%3, %2) : f32[s0, s2]\n");
  EXPECT_NE(apart.why.find("another matmul takes it"), std::string::npos) << apart.why;
}

// Few rows without packed panels, panels packed by groups or as a whole, and forms of one matrix or both.
TEST(FuseGemm, TwoSumsHaveTheBitsOfEager) {
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    for (const auto& [width, hidden] :
         {std::pair<std::int64_t, std::int64_t>{48, 96}, {1100, 200}, {40, 3}, {33, 1}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name(dtype), width, hidden));
      const auto noise = [&](std::vector<Dim> sizes) { return to_copy(mul(randn(sizes), 0.1), dtype); };
      const Tensor gate = noise({hidden, width}), up = noise({hidden, width}), scale = noise({hidden});
      const auto f = [=](const Tensor& x) { return mul(silu(linear(x, gate)), mul(linear(x, up), scale)); };
      expect_same_bits(f, dtype, width, 1);
      set_packing_cache(0);
      expect_same_bits(f, dtype, width, 1);
      const PackedMatrix one = pack(up.t());
      expect_same_bits(f, dtype, width, 1);
      reset_packing_cache();
    }
  }
}

// As many as it takes: the matmul itself adds a bias.
TEST(FuseGemm, AnEpilogueReadsSixTensorsAndABias) {
  const auto noise = [](std::vector<Dim> sizes) { return mul(randn(sizes), 0.1); };
  const Tensor square = noise({48, 48}), bias = noise({48});
  const std::vector<Tensor> rest = {noise({48}), noise({48}), noise({48}),
                                    noise({48}), noise({48}), noise({48})};
  const auto f = [=](const Tensor& x) {
    Tensor y = linear(x, square, bias);
    for (const Tensor& each : rest) y = add(y, each);
    return y;
  };
  const auto fast = compile(f);
  for (const std::int64_t rows : {5, 1, 200}) {
    const Tensor x = randn({rows, 48});
    EXPECT_TRUE(test::equal_bits(fast(x), f(x))) << rows << " rows";
  }
}

TEST(FuseGemm, BatchesToo) {
  const Tensor mask = randn({1, 1, 7});
  const auto scores = [=](const Tensor& q, const Tensor& k) {
    return add(mul(bmm(q, k.transpose(1, 2)), 0.125), mask);
  };
  const auto fast = compile(scores);
  for (const std::int64_t batch : {2, 1, 12}) {
    const Tensor q = randn({batch, 5, 64}), k = randn({batch, 7, 64});
    EXPECT_TRUE(test::equal_bits(fast(q, k), scores(q, k))) << batch;
    expect_kernels(1, [&] { fast(q, k); });
  }
}

}  // namespace
}  // namespace pel

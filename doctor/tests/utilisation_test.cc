// FLOPs and bytes of ops, and how much of the device's peaks they are.
#include <gtest/gtest.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/model/op_cost.h"
#include "doctor/model/op_traffic.h"
#include "doctor/tests/found.h"

namespace pel::doctor {
namespace {

using test::find_event;
using test::found_in;
using test::number_at;
using test::TraceText;

constexpr const char* kH100 = R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}])";
constexpr const char* kGemmOfStep = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas";

OpWork work_of_op(const std::string& name, const std::string& args) {
  const Model model = TraceText().op(1, name, 0, 10, args).model();
  return work_of(model, find_event(model, name)).value_or(OpWork{-1, -1, {}});
}

TEST(OpWork, OfAMatmulIsTwoForEachMultiplication) {
  const OpWork work =
      work_of_op("aten::addmm",
                 R"("Input Dims": [[4], [2, 3], [3, 4]], "Input type": ["float", "c10::Half", "c10::Half"])");
  EXPECT_EQ(work.flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(work.bytes, 2 * (2 * 3 + 3 * 4 + 2 * 4));
  EXPECT_EQ(work.dtype, "f16");
}

TEST(OpWork, OfAConvolutionFollowsStridePaddingAndDilation) {
  const auto convolution = [](const std::string& concrete) {
    return work_of_op("aten::convolution",
                      R"("Input Dims": [[2, 8, 32, 32], [16, 4, 3, 3], [], [], [], [], [], [], []],
                         "Input type": ["float", "float"], "Concrete Inputs": )" +
                          concrete);
  };
  // 32 by 32 becomes 16 by 30: (32 + 2 - 3) / 2 + 1, and 32 + 2 - 5 + 1.
  const OpWork work = convolution(R"(["", "", "", "[2, 1]", "[1]", "[1, 2]", "False", "[0, 0]", "2"])");
  EXPECT_EQ(work.flops, std::int64_t{2} * (2 * 16 * 16 * 30) * (4 * 3 * 3));
  EXPECT_EQ(work.bytes, 4 * (2 * 8 * 32 * 32 + 16 * 4 * 3 * 3 + 2 * 16 * 16 * 30));
  EXPECT_EQ(convolution(R"(["", "", "", "[0, 0]", "[1]", "[1]", "False", "[0, 0]", "2"])").flops, -1);
  EXPECT_EQ(convolution(R"(["", "", "", "[1]", "[1]", "[99]", "False", "[0, 0]", "2"])").flops, -1);
  EXPECT_EQ(convolution(R"(["", "", "", "", "", "", "", "", ""])").flops, -1);
  EXPECT_EQ(work_of_op("aten::convolution", R"("Input Dims": [[2, 8, 32, 32], [16, 4, 3, 3]])").flops, -1);
}

TEST(OpWork, OfConvolutionsBackwardCountsTheGradientsThatAreComputed) {
  const auto backward = [](const std::string& mask) {
    return work_of_op("aten::convolution_backward",
                      R"("Input Dims": [[10, 64, 7, 7], [10, 32, 14, 14], [64, 32, 3, 3]],
                         "Input type": ["c10::BFloat16"], "Concrete Inputs": ["", "", "", "[0]", "[2, 2]", "[1, 1]",
                         "[1, 1]", "False", "[0, 0]", "1", ")" +
                          mask + "\"]");
  };
  const std::int64_t one = std::int64_t{2} * (10 * 64 * 7 * 7) * (32 * 3 * 3);
  EXPECT_EQ(backward("[True, True, False]").flops, 2 * one);
  EXPECT_EQ(backward("[False, True, True]").flops, one);
  EXPECT_EQ(backward("").flops, -1);
}

TEST(OpWork, OfAttentionIsTwoMatmulsForwardAndFiveBackward) {
  const std::string sizes = R"([2, 4, 128, 64], [2, 4, 96, 64], [2, 4, 96, 32]])";
  const std::int64_t scores = 2 * 4 * 128 * 96;
  EXPECT_EQ(work_of_op("aten::_scaled_dot_product_flash_attention", R"("Input Dims": [)" + sizes).flops,
            2 * scores * (64 + 32));
  EXPECT_EQ(work_of_op("aten::_scaled_dot_product_flash_attention_backward",
                       R"("Input Dims": [[2, 4, 128, 32], )" + sizes)
                .flops,
            2 * scores * (3 * 64 + 2 * 32));
  EXPECT_EQ(work_of_op("aten::_flash_attention_forward",
                       R"("Input Dims": [[2, 128, 4, 64], [2, 96, 4, 64], [2, 96, 4, 64]])")
                .flops,
            2 * scores * (64 + 64));
  EXPECT_EQ(work_of_op("aten::_flash_attention_forward",
                       R"("Input Dims": [[128, 4, 64], [96, 4, 64], [96, 4, 64]])")
                .flops,
            -1);
}

TEST(OpWork, OfSizesThatNoDeviceHasSaturates) {
  const std::string huge = "1099511627776";
  EXPECT_EQ(
      work_of_op("aten::bmm", fmt::format(R"("Input Dims": [[{0}, {0}, {0}], [{0}, {0}, {0}]])", huge)).flops,
      kMaxSum);
  EXPECT_EQ(work_of_op("aten::convolution",
                       fmt::format(R"("Input Dims": [[{0}, {0}, {0}], [{0}, {0}, {0}]], "Concrete Inputs":
                                   ["", "", "", "[1]", "[{0}]", "[{0}]", "True", "[{0}]", "1"])",
                                   huge))
                .flops,
            kMaxSum);
}

TEST(BytesMoved, CountWhatIsInMemoryOnce) {
  const auto moved = [](const std::string& name, const std::string& args, KernelFamily family) {
    const Model model = TraceText().op(1, name, 0, 10, args).model();
    return bytes_moved(model, find_event(model, name), family).value_or(-1);
  };
  using enum KernelFamily;
  EXPECT_EQ(
      moved(
          "aten::add",
          R"("Input Dims": [[8, 4], [8, 4]], "Input type": ["float", "float"], "Input Strides": [[4, 1], [0, 1]])",
          Elementwise),
      4 * (8 * 4 + 4 + 8 * 4));
  EXPECT_EQ(moved("aten::sum", R"("Input Dims": [[8, 4]], "Input type": ["double"])", Reduction), 8 * 8 * 4);
  EXPECT_EQ(
      moved("aten::gt", R"("Input Dims": [[8, 4], []], "Input type": ["float", "Scalar"])", Elementwise),
      4 * 8 * 4 + 8 * 4);
  EXPECT_EQ(
      moved("aten::copy_", R"("Input Dims": [[8, 4], [8, 4]], "Input type": ["float", "c10::Half"])", Copy),
      8 * 4 * (4 + 2));
  // The weights of a norm do not broadcast with its input.
  EXPECT_EQ(moved("aten::native_batch_norm",
                  R"("Input Dims": [[2, 64, 7, 7], [64]], "Input type": ["float", "float"])", Norm),
            4 * (2 * 64 * 7 * 7 * 2 + 64));
  EXPECT_EQ(moved("aten::embedding", R"("Input Dims": [[1000000, 64], [8]], "Input type": ["float", "long"])",
                  Embedding),
            -1);
  EXPECT_EQ(moved("vllm::cache", R"("Input Dims": [[8, 4]], "Input type": ["float"])", Copy), -1);
}

TEST(Utilisation, IsTheShareOfTimeThatThePeakWouldTake) {
  const std::string dims =
      R"("Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"])";
  TraceText trace;
  trace.metadata(kH100);
  for (int step = 0; step < 2; ++step) {
    const double t = 1000.0 * step;
    trace.annotation(1, fmt::format("ProfilerStep#{}", step), t, 900);
    // The innermost op counts, once, though it launches two kernels.
    trace.op(1, "aten::matmul", t, 100, dims)
        .op(1, "aten::linear", t, 100, dims)
        .op(1, "aten::mm", t + 1, 90, dims);
    trace.call(1, "cudaLaunchKernel", t + 10, 5, 10 * step + 1)
        .call(1, "cudaLaunchKernel", t + 20, 5, 10 * step + 2);
    trace.kernel(7, kGemmOfStep, t + 100, 60, 10 * step + 1);
    trace.kernel(7, "void splitKreduce_kernel<32, 16, int, float, float, float, float, true>(float*)",
                 t + 160, 40, 10 * step + 2);
    trace.call(1, "cudaLaunchKernel", t + 200, 5, 10 * step + 3)
        .kernel(7, kGemmOfStep, t + 205, 95, 10 * step + 3);
  }
  const Finding finding = found_in(trace, "utilisation");
  const std::int64_t flops = std::int64_t{2} << 30;
  EXPECT_EQ(number_at(finding, "flops"), 2.0 * static_cast<double>(flops));
  EXPECT_EQ(number_at(finding, "unsized_ns"), 2 * 95'000);
  EXPECT_NEAR(number_at(finding, "unsized_share"), 100.0 * 95 / (95 + 60), 1e-9);
  // From the first kernel to the end of the last: 200 of the first step, and 1000 with the gap before the
  // second.
  EXPECT_EQ(number_at(finding, "steps", 0, "device_ns"), 200'000);
  EXPECT_EQ(number_at(finding, "steps", 1, "device_ns"), 1'000'000);
  EXPECT_NEAR(number_at(finding, "steps", 0, "mfu"), 100.0 * static_cast<double>(flops) / 989.4e12 / 200e-6,
              1e-9);
  EXPECT_EQ(number_at(finding, "steps", 1, "flops"), static_cast<double>(flops));
  EXPECT_EQ(number_at(finding, "bytes"), 2.0 * 3 * 2 * 1024 * 1024);
  EXPECT_EQ(number_at(finding, "ops", 0, "time_ns"), 200'000);
}

TEST(Utilisation, UsesTheFlopsThatTheProfilerCounted) {
  const Finding finding =
      found_in(TraceText()
                   .op(1, "aten::mul", 0, 50, R"("flops": 12345)")
                   .call(1, "cudaLaunchKernel", 10, 5, 1)
                   .kernel(7, "k", 20, 10, 1)
                   .kernel(7, "own", 40, 10, 2, R"("flops": 55, "bytes read": 100, "bytes written": 20)"),
               "utilisation");
  EXPECT_EQ(number_at(finding, "flops"), 12'400);
  EXPECT_EQ(number_at(finding, "bytes"), 120);
  EXPECT_TRUE(std::isnan(number_at(finding, "mfu")));  // the device is not known
  EXPECT_FALSE(finding.sentences.empty());
}

TEST(Utilisation, OfMoreThanThePeakIsNotAShare) {
  const Finding finding =
      found_in(TraceText()
                   .metadata(kH100)
                   .op(1, "aten::mm", 0, 50,
                       R"("Input Dims": [[99999, 99999], [99999, 99999]], "Input type": ["float", "float"])")
                   .call(1, "cudaLaunchKernel", 10, 5, 1)
                   .kernel(7, "ampere_sgemm_128x64_tn", 20, 1, 1),
               "utilisation");
  EXPECT_TRUE(std::isnan(number_at(finding, "mfu")));
  EXPECT_TRUE(std::isnan(number_at(finding, "bandwidth")));
}

}  // namespace
}  // namespace pel::doctor

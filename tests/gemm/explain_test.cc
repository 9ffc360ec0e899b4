// Why a kernel was chosen, and the tuning file.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "backends/cpu/onednn/gemm.h"
#include "support/errors.h"
#include "support/page.h"

namespace pel {
namespace {

const KernelCandidate* find(const KernelChoice& choice, std::string_view part) {
  for (const KernelCandidate& c : choice.candidates)
    if (c.name.find(part) != std::string::npos) return &c;
  return nullptr;
}

TEST(Explain, ListsEveryCandidateWithItsRefusalOrPrediction) {
  const Tensor x = ones({64, 256}), weight = ones({128, 256}), bias = ones({128});
  const KernelChoice choice = explain_matmul(x, weight.t(), bias);
  EXPECT_EQ(choice.call, "addmm(f32[64, 256], f32[256, 128], f32[64, 128])");
  ASSERT_NE(find(choice, "cpu_gemm_tiny"), nullptr);
  EXPECT_EQ(find(choice, "cpu_gemm_tiny")->refusal,
            "the call is too large for the element-by-element kernel");
  ASSERT_TRUE(choice.winner.has_value());
  EXPECT_EQ(choice.candidates[*choice.winner].name.substr(0, 9), "pellucid_");
  EXPECT_GT(choice.candidates[*choice.winner].predicted_ns, 0);
  EXPECT_TRUE(choice.reason.starts_with("the shortest predicted time")) << choice.reason;
  if (cpu::onednn::gemm_kernel()) {
    ASSERT_NE(find(choice, "_f32_tn_gemm_bias"), nullptr) << choice.text();
    EXPECT_EQ(find(choice, "_f32_tn_gemm_bias")->refusal, "needs Determinism::Relaxed");
    EXPECT_NE(find(choice, "_f32_tn_ref_bias"), nullptr) << choice.text();
  }
  EXPECT_NE(choice.text().find("  * "), std::string::npos);
  EXPECT_NE(choice.json().find("\"winner\": "), std::string::npos);
}

TEST(Explain, JsonQuotesWhatRefusalsQuote) {
  KernelChoice choice;
  choice.call = "mm";
  choice.candidates.emplace_back();
  choice.candidates[0].name = "a";
  choice.candidates[0].refusal = "refused by \"file\\n\"";
  choice.reason = "\"only\" one";
  EXPECT_EQ(
      choice.json(),
      R"({"call": "mm", "candidates": [{"name": "a", "refusal": "refused by \"file\\n\""}], "winner": null, "reason": "\"only\" one"})");
}

TEST(Explain, SmallAndUnusualCallsUseOwnKernels) {
  const KernelChoice small = explain_matmul(ones({4, 4}), ones({4, 4}));
  EXPECT_EQ(small.candidates[*small.winner].name.find("onednn"), std::string::npos) << small.text();
  const KernelChoice wide = explain_matmul(ones({64, 64}, kF64), ones({64, 64}, kF64));
  EXPECT_NE(wide.candidates[*wide.winner].name.find("pellucid_"), std::string::npos) << wide.text();
}

TEST(Explain, MeasuresOnRequest) {
  const KernelChoice choice = explain_matmul(ones({32, 64}), ones({64, 48}), std::nullopt, Measure::Yes);
  for (const KernelCandidate& c : choice.candidates)
    EXPECT_EQ(c.measured_ns.has_value(), c.predicted_ns > 0) << c.name;
}

// The next test runs this one in a process of its own, where the environment names a file.
TEST(Explain, TheChildMultiplies) {
  EXPECT_EQ(mm(ones({100, 200}), ones({200, 90})).numel(), 9000);
  mm(ones({101, 201}), ones({201, 91}));  // of the same class
  mm(ones({10, 200}), ones({200, 90}));
}

TEST(Explain, TuningRemembersAClass) {
  const std::string path = testing::TempDir() + "/pellucid_tuning_" + std::to_string(getpid());
  const std::string command = "PELLUCID_TUNE=" + path + " /proc/" + std::to_string(getpid()) +
                              "/exe --gtest_filter=Explain.TheChildMultiplies > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string first = test::read_file(path);
  EXPECT_TRUE(first.starts_with("pellucid tuning 2\ncpu gemm_f32_nn_1x128x128x256 ")) << first;
  EXPECT_NE(first.find("\ncpu gemm_f32_nn_1x16x128x256 "), std::string::npos) << first;
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 3) << first;
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(test::read_file(path), first) << "known classes are not measured again";
  std::ofstream(path) << "of another version\n";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(test::read_file(path).starts_with("pellucid tuning 2\n"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace pel

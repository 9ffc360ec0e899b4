// The explanation of a compiled function: what it says agrees with what runs.
#include <chrono>
#include <functional>
#include <regex>
#include <thread>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "base/thread_pool.h"

namespace pel {
namespace {

struct Moved {
  std::uint64_t read = 0, written = 0;
  std::vector<std::string> kernels;
};

template <class F>
Moved profiled(const F& call) {
  Moved sum;
  Profile profile;
  call();
  profile.stop();
  profile.each([&](const ProfileEvent& e) {
    if (e.kind != ProfileEvent::Kind::Kernel) return;
    sum.read += e.bytes_read;
    sum.written += e.bytes_written;
    sum.kernels.emplace_back(e.name);
  });
  return sum;
}
Moved explained(const CompileExplanation& explanation) {
  Moved sum;
  for (const auto& kernel : explanation.graphs.at(0).kernels) {
    sum.read += kernel.bytes_read;
    sum.written += kernel.bytes_written;
    sum.kernels.push_back(kernel.name);
  }
  return sum;
}

TEST(CompileExplanation, BytesAreThoseOfTheProfiler) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 256);
  const nn::TransformerBlock<nn::RMSNorm, nn::GEGLU> block({.width = 64, .heads = 4}, 128);
  const auto fast_mlp = compile(mlp);
  const auto fast_block = compile([&](const Tensor& x) { return block(x); });
  const auto expect_equal = [](const auto& fast, const Tensor& x) {
    for (int i = 0; i < 2; ++i) fast(x);  // then weights are packed, which names of kernels say
    const Moved said = explained(fast.explain(x)), ran = profiled([&] { fast(x); });
    EXPECT_EQ(said.kernels, ran.kernels);
    EXPECT_EQ(said.read, ran.read);
    EXPECT_EQ(said.written, ran.written);
  };
  for (const int rows : {7, 1, 300}) expect_equal(fast_mlp, randn({rows, 64}));
  for (const int tokens : {3, 200}) expect_equal(fast_block, randn({2, tokens, 64}));
}

TEST(CompileExplanation, TheGegluMlpAsText) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(512, 1408);
  const auto fast = compile([&](const Tensor& x) { return mlp(x); });
  const int threads = thread_count();
  set_thread_count(2);
  std::string text = fast.explain(randn({256, 512})).text();
  set_thread_count(threads);
  // Lines of this file; kernels, times and scratch memory of this machine.
  const auto mask = [&](const char* pattern, const char* instead) {
    text = std::regex_replace(text, std::regex(pattern), instead);
  };
  mask("explain_test.cc:[0-9]+", "test.cc:1");
  mask("\n +\\(test", " (test");  // a longer name stands on a line of its own
  mask("gemm_fused_mm_gelu_mul_0_[a-z0-9]+ +", "gemm_fused_mm_gelu_mul_0 ");
  mask("([0-9]\\.) (?!gemm_)[a-zA-Z0-9_:]+ +([0-9])", "$1 gemm $2");
  mask("chosen: the least predicted time.*(\n        .*)*", "chosen: by time");
  mask("memory: [0-9.]+ [kM]B", "memory: 1 MB");
  EXPECT_EQ(text, R"(graph(f32[s0, s1]) at s0 = 256, s1 = 512

  one compile serves
    input 0: axis 0 may have any size; axis 1, s1, must satisfy s1 == 512; another dtype, rank,
      device or order of strides compiles again
    axis 1 of input 0 must be 512: weight of linear at test.cc:1, in gate

  kernels                                                                            read    written
  1. gemm_fused_mm_gelu_mul_0 6.29 MB    1.44 MB
      %3 = mm(%0, %2) (test.cc:1 linear > matmul > mm, in gate)
      %7 = mm(%0, %6) (test.cc:1 linear > matmul > mm, in up)
      %4 = gelu(%3, 'tanh') (test.cc:1)
      %8 = mul(%4, %7) (test.cc:1)
      not written: %3, f32[s0, 1408]: 5632*s0 bytes, 1.44 MB
      not written: %7, f32[s0, 1408]: 5632*s0 bytes, 1.44 MB
      not written: %4, f32[s0, 1408]: 5632*s0 bytes, 1.44 MB
      chosen: compiled for this graph
  2. gemm 4.33 MB     524 kB
      %11 = mm(%8, %10) (test.cc:1 linear > matmul > mm, in down)
      chosen: by time
  all                                                                             10.6 MB    1.97 MB
  not written, by fusion: 4.33 MB
  threads: known after a call at these sizes

  memory: 1 MB at the peak, 524 kB of it for results

  packed weights: none
    not packed: %2, f32[512, 1408]; %6, f32[512, 1408]; %10, f32[1408, 512]: no call has used it yet

  decided
    fuse_pointwise: poi_fused_gelu_mul_0 computes 2 calls: not written to memory: %4 (test.cc:1)
    fuse_gemm: gemm_fused_mm_gelu_mul_0 takes poi_fused_gelu_mul_0, over the sums of two matmuls of
      one matrix: not written to memory: %3, %7, %4 (test.cc:1)
)");
  std::istringstream lines(fast.explain(randn({256, 512})).text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

class ExplainedThreads : public testing::Test {
 protected:
  ~ExplainedThreads() override { set_thread_count(before_); }
  static CompileExplanation::Threads of_one_kernel(const CompileExplanation& explanation) {
    EXPECT_EQ(explanation.graphs.at(0).kernels.size(), 1u);
    return explanation.graphs.at(0).kernels.at(0).threads;
  }
  // What the pool decides for the longest loop of a call, after its workers have parked.
  template <class F>
  static LoopSplit decided(const F& call) {
    struct Longest : detail::LoopWatcher {
      void loop(std::int64_t count, Grain grain, LoopSplit decided) override {
        if (grain.nanoseconds(count) <= ns) return;
        ns = grain.nanoseconds(count);
        split = decided;
      }
      double ns = 0;
      LoopSplit split = {1, 1};
    } watcher;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    detail::loop_watcher = &watcher;
    call();
    detail::loop_watcher = nullptr;
    return watcher.split;
  }

 private:
  int before_ = thread_count();
};

TEST_F(ExplainedThreads, AreThoseThatThePoolDecides) {
  const NoGrad no_grad;
  const Tensor weight = randn({256, 256});
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) { return gelu(x); },
      [](const Tensor& x) { return softmax(x, -1); },
      [&](const Tensor& x) { return matmul(x, weight); },
  };
  for (const auto& function : functions) {
    const auto fast = compile(function);
    for (const int threads : {2, 16}) {
      set_thread_count(threads);
      for (const std::int64_t rows : {1, 8, 32, 64, 1024}) {
        const Tensor x = randn({rows, 256});
        EXPECT_EQ(of_one_kernel(fast.explain(x)).count, 0) << "before the first call";
        fast(x);
        const CompileExplanation::Threads said = of_one_kernel(fast.explain(x));
        LoopSplit split{};
        // Workers park within 200 µs, unless another process has the processor.
        for (int attempt = 0; attempt < 20 && split.threads != said.count; ++attempt)
          split = decided([&] { fast(x); });
        EXPECT_EQ(split.threads, said.count) << rows << " rows: " << said.reason;
        EXPECT_LE(said.count, said.count_if_awake);
        EXPECT_LE(said.count_if_awake, usable_threads());
        EXPECT_NE(of_one_kernel(fast.explain()).count, 0) << "at the sizes of the first call";
      }
    }
  }
}

TEST_F(ExplainedThreads, TheTextSaysWhyOnHowMany) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return gelu(x); });
  const auto text_at = [&](std::int64_t size) {
    const Tensor x = randn({size});
    fast(x);
    return fast.explain(x).text();
  };
  set_thread_count(2);
  EXPECT_NE(text_at(100).find("runs on one thread: less than 5.00 µs of work, or none that can be split"),
            std::string::npos);
  const std::string text = text_at(1 << 22);
  EXPECT_TRUE(std::regex_search(text, std::regex("runs on 2 threads: [0-9.]+ [mµ]s of work in 8 pieces\n")))
      << text;
  set_thread_count(1);
  EXPECT_NE(text_at(1 << 22).find("threads: one, since thread_count() is 1\n"), std::string::npos);
}

TEST_F(ExplainedThreads, AreOfThePresentNumberOfThreads) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return gelu(x); });
  const Tensor x = randn({1 << 20});
  set_thread_count(1);
  fast(x);
  set_thread_count(2);
  EXPECT_EQ(fast.explain(x).graphs.at(0).thread_count, 0) << "no call with two threads yet";
  fast(x);
  EXPECT_EQ(fast.explain(x).graphs.at(0).thread_count, 2);
  EXPECT_EQ(of_one_kernel(fast.explain(x)).count, 2);
}

TEST(CompileExplanation, MemoryAtThePeakIncludesSmallResults) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return exp(x); });
  const std::string text = fast.explain(randn({256})).text();
  EXPECT_NE(text.find("memory: 1.02 kB at the peak, 1.02 kB of it for results"), std::string::npos) << text;
}

TEST(CompileExplanation, JsonHasAVersionAndTheSameNumbers) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 256);
  const auto fast = compile(mlp);
  const CompileExplanation said = fast.explain(randn({7, 64}));
  simdjson::dom::parser parser;
  const std::string text = said.json();
  const simdjson::dom::element json = parser.parse(text);
  EXPECT_EQ(std::string_view(json["schema"]), "pellucid.compile/1");
  const simdjson::dom::element graph = json["graphs"].at(0);
  EXPECT_EQ(std::int64_t(graph["peak_bytes"]), fast.peak_bytes(randn({7, 64})));
  std::uint64_t read = 0;
  for (const simdjson::dom::element kernel : graph["kernels"]) read += std::uint64_t(kernel["bytes_read"]);
  EXPECT_EQ(read, explained(said).read);
  EXPECT_EQ(std::string_view(graph["kernels"].at(0)["saved"].at(0)["formula"]), "1024*s0");
  EXPECT_EQ(std::int64_t(graph["kernels"].at(1)["threads"]["count"]),
            said.graphs[0].kernels[1].threads.count);
}

TEST(CompileExplanation, SaysWhichCallsCompileAgain) {
  const NoGrad no_grad;
  const nn::Linear linear(8, 4);
  const auto fast = compile(linear);
  fast(randn({3, 8}));
  const CompileExplanation::Graph graph = fast.explain().graphs.at(0);
  EXPECT_NE(graph.inputs[0].forecast.find("axis 0 may have any size"), std::string::npos);
  EXPECT_TRUE(graph.inputs[0].axes[0].guards.empty());
  ASSERT_EQ(graph.inputs[0].axes[1].guards.size(), 1u);
  EXPECT_EQ(graph.guards[graph.inputs[0].axes[1].guards[0]].words, "axis 1 of input 0 must be 8");
  // And so it is.
  fast(randn({5, 8}));
  EXPECT_EQ(fast.compiles(), 1u);
  fast(randn({8, 5}).t());
  EXPECT_EQ(fast.compiles(), 2u);
  EXPECT_EQ(fast.explain().graphs.size(), 2u);
}

TEST(CompileExplanation, OfAFunctionThatAddsToExistingGradients) {
  const Tensor w = randn({4}).requires_grad_();
  const auto step = compile([&](const Tensor& x) {
    const Tensor loss = sum(mul(w, x));
    loss.backward();
    return loss;
  });
  const Tensor x = randn({4});
  step(x);  // there is no gradient yet
  step(x);  // adds to the first
  EXPECT_EQ(step.compiles(), 2u);
  const CompileExplanation::Graph graph = step.explain(x).graphs.at(0);
  ASSERT_EQ(graph.inputs.size(), 2u);  // x, and the gradient of w
  EXPECT_EQ(graph.inputs[0].type, "f32[s0]");
  EXPECT_FALSE(graph.kernels.empty());
  EXPECT_EQ(step.compiles(), 2u);
}

}  // namespace
}  // namespace pel

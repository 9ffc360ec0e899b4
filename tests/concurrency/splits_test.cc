// How kernels are split for 1 to 256 threads, without their time: the cuts of all loops are watched while the
// pieces run one after the other, and a model says what the threads would do with them.
#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "base/thread_pool.h"
#include "compile/equal_bits.h"

namespace pel {
namespace {

constexpr int kThreadCounts[] = {2, 3, 4, 6, 8, 16, 24, 32, 64, 128, 256};

struct WatchedLoop {
  std::int64_t count;
  Grain grain;
  std::vector<std::int64_t> begins{}, pieces{};  // of each piece: its first element, and how many

  // In units of Grain::time.
  double work() const { return time_of(count); }
  // When the last thread ends, if all begin at once, each takes the next piece when it has ended one, and
  // every element takes the same time.
  double end(int threads) const {
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    for (int i = 0; i < threads; ++i) ends.push(0);
    double last = 0;
    for (const std::int64_t elements : pieces) {
      const double end = ends.top() + time_of(elements);
      ends.pop();
      ends.push(end);
      last = std::max(last, end);
    }
    return last;
  }

 private:
  double time_of(std::int64_t elements) const {
    return static_cast<double>(elements) / static_cast<double>(grain.elements) *
           static_cast<double>(grain.time);
  }
};

class Watcher : public detail::LoopWatcher {
 public:
  Watcher() { detail::loop_watcher = this; }
  ~Watcher() override { detail::loop_watcher = nullptr; }
  void loop(std::int64_t count, Grain grain, LoopSplit) override { loops.push_back({count, grain}); }
  bool takes_pieces() const override { return true; }
  void piece_ended(std::int64_t begin, std::int64_t end) override {
    loops.back().begins.push_back(begin);
    loops.back().pieces.push_back(end - begin);
  }

  std::vector<WatchedLoop> loops;
};

class Splits : public testing::Test {
 protected:
  ~Splits() override { set_thread_count(before_); }
  static std::vector<WatchedLoop> loops_of(int threads, const std::function<void()>& call) {
    set_thread_count(threads);
    Watcher watcher;
    call();
    return std::move(watcher.loops);
  }

 private:
  int before_ = thread_count();
};

struct SplitCase {
  std::string name;
  std::function<Tensor()> call;
  int max_threads = 256;  // that all have work
};

std::vector<SplitCase> kernel_cases() {
  const Tensor flat = randn({1 << 20}), rows = randn({1024, 768}), image = randn({1, 64, 56, 56}),
               filters = randn({64, 64, 3, 3}), few = randn({8, 768}), wide = randn({768, 3072}),
               heads = randn({1, 12, 512, 64}), query = randn({1, 12, 1, 64}),
               few_heads = randn({1, 3, 8192, 64}), queries = randn({1, 9, 1, 64});
  std::vector<SplitCase> cases = {
      {"gelu", [=] { return gelu(flat); }},
      {"add", [=] { return add(flat, flat); }},
      {"transposed copy", [=] { return t(rows).contiguous(); }},
      {"softmax", [=] { return softmax(rows, -1); }},
      {"layer_norm", [=] { return layer_norm(rows, {768}); }},
      {"sum of all", [=] { return sum(flat); }},
      {"sum of columns", [=] { return sum(rows, {0}); }},
      {"sort", [=] { return std::get<0>(sort(rows, -1)); }},
      // An image is cut into at most 16 pieces, whatever the number of threads: bits depend on the pieces.
      {"convolution", [=] { return conv2d(image, filters, std::nullopt, {1}, {1}); }, 8},
  };
  for (const DType dtype : {kF32, kBF16}) {
    const auto add_case = [&](const char* name, std::function<Tensor()> call) {
      cases.push_back({std::string(name) + (dtype == kF32 ? " f32" : " bf16"), std::move(call)});
    };
    const Tensor a = rows.to(dtype), b = wide.to(dtype), c = few.to(dtype), h = heads.to(dtype),
                 q = query.to(dtype), long_h = few_heads.to(dtype), long_q = queries.to(dtype);
    add_case("GEMM", [=] { return matmul(a, b); });
    add_case("GEMM of few rows", [=] { return matmul(c, b); });
    add_case("attention", [=] { return scaled_dot_product_attention(h, h, h); });
    add_case("decode", [=] { return scaled_dot_product_attention(q, h, h); });
    add_case("decode of few heads", [=] { return std::get<0>(internal::attention(long_q, long_h, long_h)); });
  }
  return cases;
}

TEST_F(Splits, ThreadsEndAtAboutTheSameTimeAndBitsAreTheSame) {
  for (const SplitCase& c : kernel_cases()) {
    set_thread_count(1);
    const Tensor expected = c.call();
    for (const int threads : kThreadCounts) {
      if (threads > c.max_threads) break;
      Tensor result;
      const std::vector<WatchedLoop> loops = loops_of(threads, [&] { result = c.call(); });
      EXPECT_TRUE(test::equal_bits(result, expected)) << c.name << " on " << threads << " threads";
      double end = 0, work = 0;
      for (const WatchedLoop& loop : loops) {
        end += loop.end(threads);
        work += loop.work();
      }
      constexpr double kShort = 60;  // 150 µs: to split it further gains little
      EXPECT_LE(end, std::max(kShort, 1.3 * work / threads))
          << c.name << " on " << threads << " threads: " << loops.size() << " loops, the first of "
          << loops[0].count << " elements in " << loops[0].pieces.size() << " pieces";
    }
  }
}

TEST_F(Splits, ElementwiseLoopsDoNotShareCacheLines) {
  const Tensor x = randn({(1 << 18) + 5});
  for (const int threads : kThreadCounts) {
    for (const WatchedLoop& loop : loops_of(threads, [&] { add(gelu(x), x); })) {
      for (const std::int64_t begin : loop.begins)
        EXPECT_EQ(begin % 64, 0) << "of elements of one byte, too, on " << threads << " threads";
    }
  }
}

// After each loop all threads wait for the last.
TEST_F(Splits, ATransformerBlockWaitsFewTimes) {
  const std::int64_t width = 256, tokens = 64;
  const Tensor qkv = randn({3 * width, width}), out = randn({width, width}), up = randn({4 * width, width}),
               down = randn({width, 4 * width}), scale = ones({width}), shift = zeros({width});
  const auto block = compile([=](const Tensor& x) {
    const Tensor heads = linear(layer_norm(x, {width}, scale, shift), qkv).view({1, tokens, 3, 4, 64});
    const auto part = [&](std::int64_t i) { return heads.select(2, i).transpose(1, 2); };
    const Tensor attended =
        scaled_dot_product_attention(part(0), part(1), part(2)).transpose(1, 2).reshape({1, tokens, width});
    const Tensor y = add(x, linear(attended, out));
    return add(y, linear(gelu(linear(layer_norm(y, {width}, scale, shift), up)), down));
  });
  const Tensor x = randn({1, tokens, width});
  block(x);
  for (const int threads : {2, 16, 256}) {
    const std::vector<WatchedLoop> loops = loops_of(threads, [&] { block(x); });
    EXPECT_LE(loops.size(), 14u) << threads << " threads";
    EXPECT_GE(loops.size(), 4u) << "otherwise little is split";
  }
}

}  // namespace
}  // namespace pel

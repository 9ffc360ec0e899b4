// Weights of compiled functions are packed once, and never used after they have changed.
#include "compile/packed_weights.h"

#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/packing.h"
#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "compile/equal_bits.h"

namespace pel {
namespace {

using Explained = CompileExplanation;

// Bounds, policy and threads are those of the process: each test starts with the defaults.
class PackedWeights : public testing::Test {
 protected:
  PackedWeights() { reset_packing_cache(); }
  ~PackedWeights() override {
    packing_policy.store(PackingPolicy::WhereItPays);
    reset_packing_cache();
    set_thread_count(threads_);
  }
  const NoGrad no_grad_;
  const int threads_ = thread_count();
};

Tensor noise(std::vector<Dim> sizes, DType dtype = kF32) { return to_copy(mul(randn(sizes), 0.1), dtype); }

// linear with a copy of the weight, of which there is no packed form.
Tensor plain_linear(const Tensor& x, const Tensor& weight) { return linear(x, weight.clone()); }

template <class F, class... T>
std::vector<Explained::PackedWeight> weights_of(const F& fast, const T&... inputs) {
  return fast.explain(inputs...).graphs.at(0).packed_weights;
}

TEST_F(PackedWeights, ArePackedWhenTheyAreSeenUnchanged) {
  const Tensor weight = noise({96, 64});
  const auto fast = compile([=](const Tensor& x) { return linear(x, weight); });
  const Tensor x = noise({70, 64});
  const Tensor expected = plain_linear(x, weight);
  EXPECT_EQ(fast.explain(x).graphs[0].packed_weights.at(0).reason, "no call has used it yet");
  for (int call = 1; call <= 4; ++call) {
    EXPECT_TRUE(test::equal_bits(fast(x), expected)) << call;
    const Explained::PackedWeight packed = weights_of(fast, x).at(0);
    EXPECT_EQ(packed.type, "f32[64, 96]");
    if (call == 1) {
      EXPECT_EQ(packed.reason, "it waits for call 2 that finds it unchanged; 1 did");
      EXPECT_EQ(packing_cache_bytes(), 0);
    } else {
      EXPECT_EQ(packed.bytes, 96 * 64 * 4);
      EXPECT_EQ(packed.since_call, 2);
      EXPECT_EQ(packing_cache_bytes(), packed.bytes);
    }
  }
  EXPECT_NE(fast.kernels(x).at(0).find("_pn_"), std::string::npos) << fast.kernels(x).at(0);
  const std::string text = fast.explain(x).text();
  EXPECT_NE(text.find("packed weights: 24.6 kB\n    %2, f32[64, 96]: 24.6 kB since call 2"),
            std::string::npos)
      << text;
  EXPECT_NE(fast.explain(x).json().find("\"since_call\": 2"), std::string::npos);
}

// Sizes change between calls, and threads; the weight changes in every way that there is.
TEST_F(PackedWeights, HaveTheBitsOfEagerWhateverWritesToThem) {
  packing_policy.store(PackingPolicy::Always);
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    const Tensor weight = noise({96, 80}, dtype), bias = noise({96}, dtype), second = noise({96, 40}, dtype);
    const auto f = [=](const Tensor& x, const Tensor& w, const Tensor& then, const Tensor& given) {
      const Tensor h = gelu(linear(x, w, bias));
      return add(mm(h, then), mm(x, given));
    };
    const auto fast =
        compile([=](const Tensor& x, const Tensor& given) { return f(x, weight, second, given); });
    const auto other = compile([=](const Tensor& x) { return mul(linear(x, weight), 2); });
    Tensor given = noise({80, 40}, dtype);
    const std::vector<std::function<void()>> writes = {
        [] {},
        [] {},
        [&] { weight.mul_(1.5); },
        [] {},
        [&] { weight.slice(0, 3, 5).fill_(0.25); },
        [&] { second.t().add_(0.5); },
        [] {},
        [] {},
        [&] { weight.copy_(noise({96, 80}, dtype)); },
        [&] { given.neg_(); },
        [] {},
        [&] { given = noise({80, 40}, dtype); },
        [] {},
        [&] { compile([&](const Tensor& x) { return weight.add_(x); })(full({1}, 0.125, dtype)); },
        [] {},
        [] {},
    };
    for (std::size_t call = 0; call < writes.size(); ++call) {
      writes[call]();
      for (const std::int64_t rows : {call % 3 == 0 ? 200 : 5, call % 2 == 0 ? 1 : 64}) {
        const Tensor x = noise({rows, 80}, dtype);
        const Tensor expected = f(x, weight.clone(), second.clone(), given.clone());
        set_thread_count(call % 2 == 0 ? 1 : 3);
        EXPECT_TRUE(test::equal_bits(fast(x, given), expected))
            << name(dtype) << ", call " << call << ", " << rows << " rows";
        EXPECT_TRUE(test::equal_bits(other(x), mul(plain_linear(x, weight), 2)))
            << name(dtype) << ", " << call;
      }
    }
  }
}

TEST_F(PackedWeights, AreNotUsedAfterTheFunctionItselfHasWrittenToThem) {
  for (int round = 0; round < 2; ++round) {
    const Tensor weight = noise({96, 64}), x = noise({70, 64});
    const auto f = [](const Tensor& w, const Tensor& in) {
      const Tensor before = mm(in, w.t());
      w.mul_(2);
      return add(before, mm(in, w.t()));
    };
    const auto fast = compile([&](const Tensor& w, const Tensor& in) { return f(w, in); });
    for (int call = 0; call < 3; ++call) {
      const Tensor copy = weight.clone();
      const Tensor expected = f(copy, x);
      const PackedMatrix packed = pack(weight.t());
      EXPECT_TRUE(test::equal_bits(fast(weight, x), expected)) << call;
      EXPECT_FALSE(packed.is_current());
      EXPECT_TRUE(test::equal_bits(weight, copy));
    }
    EXPECT_EQ(weights_of(fast, weight, x).at(0).reason, "the function writes to it");
    EXPECT_EQ(packing_cache_bytes(), 0);
  }
}

TEST_F(PackedWeights, MemoryGoesBackWithTheWeightOrTheFunction) {
  const Tensor x = noise({70, 64});
  const std::int64_t before = memory_stats().data_bytes;
  {
    const auto fast = compile([](const Tensor& in, const Tensor& w) { return mm(in, w); });
    {
      const Tensor weight = noise({64, 96});
      const std::int64_t with_weight = memory_stats().data_bytes;
      for (int i = 0; i < 3; ++i) fast(x, weight);
      EXPECT_EQ(packing_cache_bytes(), 64 * 96 * 4);
      EXPECT_EQ(memory_stats().data_bytes, with_weight + 64 * 96 * 4);
    }
    EXPECT_EQ(packing_cache_bytes(), 0) << "the weight is gone";
    EXPECT_EQ(memory_stats().data_bytes, before);
    // Another one, perhaps at the same address.
    const Tensor weight = noise({64, 96});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(test::equal_bits(fast(x, weight), mm(x, weight.clone())));
  }
  EXPECT_EQ(packing_cache_bytes(), 0) << "the function is gone";
  EXPECT_EQ(memory_stats().data_bytes, before);
}

TEST_F(PackedWeights, OfOneMatrixAreSharedByFunctions) {
  const Tensor weight = noise({96, 64}), x = noise({70, 64});
  const auto first = compile([=](const Tensor& in) { return linear(in, weight); });
  for (int i = 0; i < 2; ++i) first(x);
  {
    const auto second = compile([=](const Tensor& in) { return neg(linear(in, weight)); });
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(test::equal_bits(second(x), neg(plain_linear(x, weight))));
    EXPECT_EQ(weights_of(second, x).at(0).since_call, 2);
    EXPECT_EQ(packing_cache_bytes(), 96 * 64 * 4);
  }
  EXPECT_EQ(packing_cache_bytes(), 96 * 64 * 4);
  weight.neg_();
  EXPECT_TRUE(test::equal_bits(first(x), plain_linear(x, weight)));
  EXPECT_EQ(packing_cache_bytes(), 0);
}

TEST_F(PackedWeights, StayBelowTheBoundWithoutTakingTurns) {
  const std::vector<Tensor> weights = {noise({96, 64}), noise({96, 64}), noise({96, 64})};
  const Tensor x = noise({70, 64});
  const auto all = compile([=](const Tensor& in) {
    return add(add(linear(in, weights[0]), linear(in, weights[1])), linear(in, weights[2]));
  });
  constexpr std::int64_t kOne = 96 * 64 * 4;
  set_packing_cache(2 * kOne + kOne / 2);
  for (int i = 0; i < 9; ++i) {
    all(x);
    EXPECT_EQ(packing_cache_bytes(), i == 0 ? 0 : 2 * kOne);
    if (i > 0) {
      EXPECT_EQ(weights_of(all, x).at(1).since_call, 2);
      EXPECT_EQ(weights_of(all, x).at(2).reason,
                "other packed matrices in use fill the bound; set_packing_cache(bytes) raises it");
    }
  }
  // Those of a function that is not called any more give way.
  const Tensor late = noise({96, 64});
  const auto one = compile([=](const Tensor& in) { return linear(in, late); });
  for (int i = 0; i < 2; ++i) one(x);
  EXPECT_EQ(weights_of(one, x).at(0).bytes, kOne);
  EXPECT_EQ(packing_cache_bytes(), 2 * kOne);

  set_packing_cache(0);
  EXPECT_EQ(packing_cache_bytes(), 0);
  for (int i = 0; i < 4; ++i) one(x);
  EXPECT_EQ(packing_cache_bytes(), 0);
  const auto off = compile([=](const Tensor& in) { return neg(linear(in, late)); });
  for (int i = 0; i < 2; ++i) off(x);
  EXPECT_EQ(weights_of(off, x).at(0).reason, "packing is off (set_packing_cache or PELLUCID_PACK_CACHE)");
}

TEST_F(PackedWeights, AreNotPackedWhereOthersMayWriteUnseen) {
  const Tensor weight = noise({96, 64}), x = noise({70, 64});
  const auto fast = compile([=](const Tensor& in) { return linear(in, weight); });
  for (int i = 0; i < 3; ++i) fast(x);
  EXPECT_GT(packing_cache_bytes(), 0);
  float* const data = weight.data<float>();
  for (int i = 0; i < 3; ++i) {
    data[i] += 1;
    EXPECT_TRUE(test::equal_bits(fast(x), plain_linear(x, weight))) << i;
  }
  EXPECT_EQ(packing_cache_bytes(), 0);
  EXPECT_EQ(weights_of(fast, x).at(0).reason,
            "other code has its address and may write to it unseen; a clone is packed");

  std::vector<float> memory(64 * 96, 0.5f);
  for (const bool read_only : {false, true}) {
    const Tensor external = from_external({.data = memory.data(), .sizes = {64, 96}, .read_only = read_only});
    const auto over = compile([=](const Tensor& in) { return mm(in, external); });
    for (int i = 0; i < 2; ++i) over(x);
    EXPECT_EQ(weights_of(over, x).at(0).bytes != 0, read_only);
  }
}

TEST_F(PackedWeights, LeaveAMemoryLimitToTheCalls) {
  const Tensor weight = noise({96, 64}), x = noise({70, 64});
  const auto fast = compile([=](const Tensor& in) { return linear(in, weight); });
  const std::int64_t limit = memory_stats().limit_bytes;
  set_memory_limit(memory_stats().data_bytes + (64 << 20));
  for (int i = 0; i < 2; ++i) fast(x);
  EXPECT_EQ(weights_of(fast, x).at(0).reason,
            "the memory of the process has a limit; set_packing_cache(bytes) packs below it");
  set_packing_cache(1 << 20);
  for (int i = 0; i < 2; ++i) fast(x);
  EXPECT_GT(packing_cache_bytes(), 0);
  set_memory_limit(limit);
}

TEST_F(PackedWeights, ThatChangeOftenArePackedLater) {
  const Tensor weight = noise({96, 64}), x = noise({70, 64});
  const auto fast = compile([=](const Tensor& in) { return linear(in, weight); });
  const auto calls_until_packed = [&] {
    int calls = 0;
    do {
      fast(x);
      ++calls;
    } while (packing_cache_bytes() == 0);
    return calls;
  };
  EXPECT_EQ(calls_until_packed(), 2);
  weight.neg_();
  EXPECT_EQ(calls_until_packed(), 4);
  weight.neg_();
  EXPECT_EQ(calls_until_packed(), 8);
  for (int i = 0; i < 10; ++i) fast(x);
  weight.neg_();
  EXPECT_EQ(calls_until_packed(), 8);  // it has paid off
}

TEST_F(PackedWeights, OfATrainingStepAreNotPacked) {
  nn::GPTConfig config;
  config.layers = 1, config.width = 64, config.vocabulary = 300;
  nn::GPT gpt(config);
  optim::AdamW optimizer(gpt, {.lr = 1e-3});
  const Tensor x = randint(0, 300, {2, 16}), y = randint(0, 300, {2, 16});
  const EnableGrad with_grad;
  const auto fast = compile([&](const Tensor& in, const Tensor& wanted) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(gpt(in).flatten(0, 1), wanted.flatten(0, 1));
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  for (int i = 0; i < 4; ++i) {
    fast(x, y);
    EXPECT_EQ(packing_cache_bytes(), 0);
  }
}

TEST_F(PackedWeights, AreInTheForecastOfMemory) {
  const Tensor weight = noise({512, 64});
  const auto fast = compile([=](const Tensor& in) { return linear(in, weight); });
  for (int call = 0; call < 8; ++call) {
    if (call == 4) weight.neg_();
    const Tensor x = noise({call % 2 == 0 ? 600 : 7, 64});
    fast.kernels(x);
    const std::int64_t forecast = fast.peak_bytes(x);
    reset_peak_memory();
    const std::int64_t before = memory_stats().data_bytes;
    const Tensor result = fast(x);
    EXPECT_EQ(memory_stats().peak_data_bytes - before, forecast) << call;
  }
}

TEST_F(PackedWeights, ServeSeveralThreads) {
  const Tensor weight = noise({96, 64});
  const auto f = [=](const Tensor& in) { return relu(linear(in, weight)); };
  const auto fast = compile(f);
  std::vector<Tensor> inputs, expected;
  for (const std::int64_t rows : {1, 7, 70, 130}) {
    inputs.push_back(noise({rows, 64}));
    expected.push_back(f(inputs.back()));
  }
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const NoGrad no_grad;
      for (int i = 0; i < 40; ++i) {
        EXPECT_TRUE(test::equal_bits(fast(inputs[(t + static_cast<std::size_t>(i)) % 4]),
                                     expected[(t + static_cast<std::size_t>(i)) % 4]));
        if (t == 0 && i % 10 == 9) set_packing_cache(i % 20 == 9 ? 0 : 1 << 20);
        const Tensor own = noise({64, 96});
        const PackedMatrix packed = pack(own);
        mm(inputs[1], own);
      }
    });
  }
}

}  // namespace
}  // namespace pel

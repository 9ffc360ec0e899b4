// Matmuls and attention on OpenCL: the bits of the CPU for all layouts and sizes of tiles.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/ops/internal.h"

#include "device/opencl.h"
#include "support/bytes.h"
#include "support/random.h"

namespace pel {
namespace {

class OpenClMatmul : public test::OpenClTest {};
class OpenClAttention : public test::OpenClTest {};

// A matrix of these elements in another layout: 0 rows are dense, 1 columns are, 2 neither.
Tensor laid_out(const Tensor& t, int layout) {
  if (layout == 0) return t.contiguous();
  if (layout == 1) return t.transpose(-1, -2).contiguous().transpose(-1, -2);
  const Tensor wide = zeros({t.size(0), 2 * t.size(1)}, {t.dtype(), t.device()});
  const Tensor every_second = wide.slice(1, 0, wide.size(1), 2);
  every_second.copy_(t);
  return every_second;
}

// Few rows read the right operand in place, and 21 from panels. 1100 of k are two chains.
TEST_F(OpenClMatmul, EveryLayoutHasTheBitsOfTheCpu) {
  manual_seed(3);
  reset_device_stats(kOpenCl);
  for (const DType dtype : {kF32, kBF16, kF16, kF64, kI32}) {
    const Tensor b = (randn({1100, 37}) * 4).to(dtype), bias = (randn({37}) * 4).to(dtype);
    for (const std::int64_t rows : {1, 5, 21}) {
      const Tensor a = (randn({rows, 1100}) * 4).to(dtype);
      for (int layout = 0; layout < (dtype == kF32 ? 3 : 2); ++layout) {
        const std::string at = fmt::format("{} {} rows, layout {}", name(dtype), rows, layout);
        const Tensor given = laid_out(b.to(kOpenCl), layout);
        EXPECT_EQ(test::difference_on_opencl(matmul(a, b), matmul(a.to(kOpenCl), given)), "") << at;
        if (rows == 1) continue;
        EXPECT_EQ(
            test::difference_on_opencl(addmm(bias, a, b), addmm(bias.to(kOpenCl), a.to(kOpenCl), given)), "")
            << at;
      }
    }
  }
  EXPECT_EQ(test::fallbacks_on_opencl(), "");
}

TEST_F(OpenClMatmul, ALeftOperandOfAnyLayoutHasTheBitsOfTheCpu) {
  manual_seed(4);
  const Tensor a = randn({21, 70}), b = randn({70, 18});
  for (int layout = 0; layout < 3; ++layout)
    EXPECT_EQ(
        test::difference_on_opencl(matmul(a, b), matmul(laid_out(a.to(kOpenCl), layout), b.to(kOpenCl))), "")
        << layout;
}

TEST_F(OpenClMatmul, AVectorOnTheRightHasTheBitsOfTheCpu) {
  manual_seed(5);
  for (const DType dtype : {kF32, kBF16}) {
    const Tensor a = randn({33, 1050}).to(dtype), x = randn({1050}).to(dtype);
    for (int layout = 0; layout < 2; ++layout) {
      const Tensor given = laid_out(a.to(kOpenCl), layout);
      EXPECT_EQ(test::difference_on_opencl(mv(a, x), mv(given, x.to(kOpenCl))), "") << name(dtype) << layout;
      EXPECT_EQ(
          test::difference_on_opencl(matmul(a, x.unsqueeze(1)), matmul(given, x.to(kOpenCl).unsqueeze(1))),
          "")
          << name(dtype) << layout;
    }
  }
}

TEST_F(OpenClMatmul, BatchesHaveTheBitsOfTheCpu) {
  manual_seed(6);
  for (const std::int64_t rows : {3, 20}) {
    const Tensor a = randn({3, rows, 40}), b = randn({3, 50, 40}), shared = randn({50, 40});
    EXPECT_EQ(test::difference_on_opencl(bmm(a, b.transpose(1, 2)),
                                         bmm(a.to(kOpenCl), b.to(kOpenCl).transpose(1, 2))),
              "")
        << rows;
    EXPECT_EQ(test::difference_on_opencl(bmm(a, shared.t().expand({3, 40, 50})),
                                         bmm(a.to(kOpenCl), shared.to(kOpenCl).t().expand({3, 40, 50}))),
              "")
        << rows;
  }
}

// Two matmuls of one left operand in a kernel, whose weights are transposed, alike and not.
TEST_F(OpenClMatmul, FusedOnesReadEveryLayout) {
  manual_seed(7);
  const NoGrad no_grad;
  const Tensor up = randn({34, 48}), gate = randn({34, 48});
  const auto fast = compile([](const Tensor& x, const Tensor& v, const Tensor& w) {
    return silu(matmul(x, v.t())) * matmul(x, w.t());
  });
  for (const std::int64_t rows : {4, 40}) {
    const Tensor x = randn({rows, 48});
    for (int layout = 0; layout < 2; ++layout) {
      const Tensor wanted = silu(matmul(x, up.t())) * matmul(x, gate.t());
      const Tensor given = fast(x.to(kOpenCl), up.to(kOpenCl), laid_out(gate.to(kOpenCl), layout));
      EXPECT_EQ(test::difference_on_opencl(wanted, given), "") << rows << " rows, layout " << layout;
    }
  }
}

// ---- Attention

struct AttentionCase {
  DType dtype = kF32;
  std::int64_t batch = 1, heads = 2, key_heads = 1, queries = 3, keys = 5, width = 16, value_width = 16;
  int mask = 0;  // 1: bool, 2: added, 3: one row for all queries
  bool is_causal = false, is_transposed = false;
  std::optional<std::int64_t> window{};
  std::optional<double> scale{};

  std::string text() const {
    return fmt::format(
        "{} batch {} heads {}/{} queries {} keys {} width {}/{} mask {} causal {} transposed {} window "
        "{} scale {}",
        name(dtype), batch, heads, key_heads, queries, keys, width, value_width, mask, is_causal,
        is_transposed, window.value_or(0), scale.value_or(0));
  }
};

void expect_the_bits_of_the_cpu(const AttentionCase& of, const std::string& repro) {
  const auto made = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    // Heads side by side, as projections write them.
    return (randn({of.batch, rows, heads, columns}) * 2).to(of.dtype).transpose(1, 2);
  };
  const Tensor query = made(of.heads, of.queries, of.width), key = made(of.key_heads, of.keys, of.width),
               value = made(of.key_heads, of.keys, of.value_width);
  std::optional<Tensor> mask;
  if (of.mask != 0) {
    const Tensor numbers = randn({of.mask == 3 ? 1 : of.queries, of.keys});
    mask = of.mask == 2 ? numbers.to(of.dtype) : gt(numbers, -0.5);
  }
  const auto on_device = [&](const Tensor& t) {
    const Tensor moved = t.to(kOpenCl);
    return of.is_transposed ? moved.transpose(2, 3).contiguous().transpose(2, 3) : moved;
  };
  const auto run = [&](const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& m) {
    return internal::attention(q, k, v, m, of.is_causal ? Causal::Yes : Causal::No, of.scale, of.window);
  };
  const auto [wanted, wanted_logs] = run(query, key, value, mask);
  const auto [given, given_logs] = run(on_device(query), on_device(key), on_device(value),
                                       mask ? std::optional(mask->to(kOpenCl)) : std::nullopt);
  EXPECT_EQ(test::difference_on_opencl(wanted, given), "") << of.text() << "\n" << repro;
  EXPECT_EQ(test::difference_on_opencl(wanted_logs, given_logs), "") << of.text() << "\n" << repro;
}

TEST_F(OpenClAttention, CallsOfModelsHaveTheBitsOfTheCpu) {
  manual_seed(8);
  reset_device_stats(kOpenCl);
  const std::vector<AttentionCase> cases = {
      // A prompt of a Llama, a token after it, and after a tile of keys.
      {.heads = 9,
       .key_heads = 3,
       .queries = 21,
       .keys = 21,
       .width = 64,
       .value_width = 64,
       .is_causal = true},
      {.heads = 9, .key_heads = 3, .queries = 1, .keys = 22, .width = 64, .value_width = 64, .window = 22},
      {.heads = 9,
       .key_heads = 3,
       .queries = 1,
       .keys = 1500,
       .width = 64,
       .value_width = 64,
       .window = 1500},
      // Rows that see one tile, two, or none of the first.
      {.queries = 1040, .keys = 1040, .is_causal = true},
      {.queries = 40, .keys = 2100, .window = 900},
      // No key is seen, by one row or by all.
      {.queries = 6, .keys = 3, .window = 2},
      {.keys = 0},
      {.mask = 3, .scale = 0.0},
      {.mask = 1, .scale = -0.7},
      {.mask = 2, .scale = -0.7},
      {.scale = -0.7},
      {.queries = 9, .keys = 40, .width = 19, .value_width = 21, .is_transposed = true},
      {.dtype = kF16, .queries = 9, .keys = 40, .width = 19, .value_width = 21, .mask = 1},
      {.dtype = kF64, .queries = 9, .keys = 1100, .width = 19, .value_width = 21, .mask = 2},
  };
  for (const AttentionCase& each : cases) expect_the_bits_of_the_cpu(each, "");
  EXPECT_EQ(test::fallbacks_on_opencl(), "");
}

TEST_F(OpenClAttention, RandomCallsHaveTheBitsOfTheCpu) {
  const test::Random random;
  const int count = test::Random::share_of(64);
  const auto only = test::number_from("PELLUCID_CASE", 0);
  for (int i = 1; i <= count; ++i) {
    if (only != 0 && static_cast<std::uint64_t>(i) != only) continue;
    test::Random r = random.of_case(static_cast<std::uint64_t>(i));
    manual_seed(static_cast<std::uint64_t>(i));
    AttentionCase of;
    of.batch = r.between(1, 2);
    of.key_heads = r.between(1, 3);
    of.heads = of.key_heads * r.between(1, 3);
    of.queries = r.pick({1, 1, 2, 7, 8, 9, 33});
    of.keys = r.pick({1, 2, 15, 16, 17, 63, 130, 1023, 1025});
    of.width = r.pick({1, 8, 16, 20, 64});
    of.value_width = r.pick({1, 8, 16, 20, 64});
    of.mask = static_cast<int>(r.between(0, 3));
    of.is_causal = r.one_in(3);
    of.is_transposed = r.one_in(5);
    if (r.one_in(3)) of.window = r.between(1, 40);
    if (r.one_in(3)) of.scale = static_cast<double>(r.pick({0, 1, -1, 3})) / 2;
    expect_the_bits_of_the_cpu(of, r.repro());
  }
}

// A query of infinities or NaN.
TEST_F(OpenClAttention, InfiniteScoresAndNanHaveTheBitsOfTheCpu) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    manual_seed(9);
    const Tensor query = randn({1, 1, 9, 4}), key = randn({1, 1, 7, 4}), value = randn({1, 1, 7, 4});
    query.select(2, 3).copy_(full({4}, odd));
    const auto [wanted, wanted_logs] =
        internal::attention(query, key, value, std::nullopt, Causal::No, std::nullopt, std::nullopt);
    const auto [given, given_logs] =
        internal::attention(query.to(kOpenCl), key.to(kOpenCl), value.to(kOpenCl), std::nullopt, Causal::No,
                            std::nullopt, std::nullopt);
    EXPECT_EQ(test::difference_on_opencl(wanted, given), "") << odd;
    EXPECT_EQ(test::difference_on_opencl(wanted_logs, given_logs), "") << odd;
  }
}

// ---- Models

// As SmolLM2, with two layers: generation waits for each token's logits alone, and runs nothing on the CPU.
TEST_F(OpenClAttention, ALlamaGeneratesTheTokensOfTheCpu) {
  const nn::LlamaConfig config{.vocabulary = 512,
                               .context = 256,
                               .layers = 2,
                               .heads = 9,
                               .kv_heads = 3,
                               .width = 576,
                               .hidden = 1536};
  manual_seed(10);
  const InferenceMode inference;
  const nn::Llama model(config);
  nn::Llama on_device(config);
  std::vector<NamedTensor> moved;
  for (const NamedTensor& each : model.named_parameters())
    moved.push_back({each.path, each.tensor.to(kOpenCl)});
  on_device.adopt(moved);
  const std::vector<std::vector<std::int64_t>> prompts = {
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, {7, 8, 9}};
  const auto run = [&](const auto& of, Device device, std::size_t count) {
    std::vector<std::vector<char>> logits;
    nn::GenerateOptions options{.max_tokens = 6};
    options.on_logits = [&](std::size_t, const Tensor& row) {
      EXPECT_EQ(row.device(), device);
      logits.push_back(test::bytes_of(row));
    };
    return std::pair(nn::generate(of, {prompts.data(), count}, options), logits);
  };
  reset_device_stats(kOpenCl);
  for (const std::size_t count : {1, 2})
    EXPECT_EQ(run(model, kCpu, count), run(on_device, kOpenCl, count)) << count;
  EXPECT_EQ(test::fallbacks_on_opencl(), "");
  const nn::CompiledLlama fast(on_device);
  EXPECT_EQ(run(model, kCpu, 2), run(fast, kOpenCl, 2));
}

}  // namespace
}  // namespace pel

// Checks attention against sums in long double, and that no other row changes the bits of a row.
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "support/bytes.h"
#include "support/errors.h"
#include "support/random.h"

namespace pel {
namespace {

enum class Mask : std::uint8_t { None, Bool, Number };

struct Problem {
  std::int64_t batch, heads, key_heads, queries, keys, width, value_width;
  DType dtype;
  Causal causal;
  Mask mask;
  std::int64_t window;  // 0: none
  bool is_transposed;   // heads are the second last axis in memory
};
std::string to_string(const Problem& p) {
  return fmt::format("{} {}x{}({})x{}x{} {}, {}{} mask {} window {}{}", name(p.dtype), p.batch, p.heads,
                     p.key_heads, p.queries, p.keys, p.width, p.value_width,
                     p.causal == Causal::Yes ? " causal" : "", static_cast<int>(p.mask), p.window,
                     p.is_transposed ? " transposed" : "");
}

std::vector<double> values_of(const Tensor& t) {
  const Tensor wide = to_copy(t, kF64).contiguous();
  const auto* data = wide.data<const double>();
  return {data, data + wide.numel().value()};
}

Tensor noise(const Problem& p, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  if (p.is_transposed) return to_copy(randn({p.batch, rows, heads, columns}), p.dtype).transpose(1, 2);
  return to_copy(randn({p.batch, heads, rows, columns}), p.dtype);
}

struct Operands {
  explicit Operands(const Problem& p)
      : query(noise(p, p.heads, p.queries, p.width)),
        key(noise(p, p.key_heads, p.keys, p.width)),
        value(noise(p, p.key_heads, p.keys, p.value_width)) {
    if (p.mask == Mask::Bool) mask = gt(randn({p.queries, p.keys}), -0.5);
    if (p.mask == Mask::Number) mask = to_copy(randn({p.batch, 1, p.queries, p.keys}), p.dtype);
  }
  std::tuple<Tensor, Tensor> attend(const Problem& p) const {
    return internal::attention(query, key, value, mask, p.causal, std::nullopt,
                               p.window > 0 ? std::optional(p.window) : std::nullopt);
  }

  Tensor query, key, value;
  std::optional<Tensor> mask;
};

// What tests draw alike: a causal problem has no mask.
void draw_options(test::Random& random, int causal_in, Problem& p) {
  p.dtype = static_cast<DType>(random.pick(
      {static_cast<int>(kF32), static_cast<int>(kBF16), static_cast<int>(kF64), static_cast<int>(kF16)}));
  p.causal = random.one_in(causal_in) ? Causal::Yes : Causal::No;
  p.mask = p.causal == Causal::Yes ? Mask::None : static_cast<Mask>(random.between(0, 2));
  p.is_transposed = random.one_in(2);
}

// Checks that the largest difference from the reference is within the rounding errors of the dtype.
void check(const Problem& p) {
  SCOPED_TRACE(to_string(p));
  const Operands operands(p);
  const auto& [query, key, value, mask] = operands;
  const auto [out, logs] = operands.attend(p);
  const std::vector<double> q = values_of(query), k = values_of(key), v = values_of(value),
                            o = values_of(out), l = values_of(logs);
  std::vector<double> m;
  if (mask) m = values_of(mask->expand({p.batch, p.heads, p.queries, p.keys}));
  // For bf16, weights are rounded to bf16, and each product with a value has that error.
  const double unit = p.dtype == kF64 ? 1e-14 : p.dtype == kF32 ? 4e-6 : p.dtype == kF16 ? 2e-3 : 2e-2;
  const auto at = [](const std::vector<double>& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
  for (std::int64_t row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const std::int64_t i = row % p.queries, head = row / p.queries % p.heads, b = row / p.queries / p.heads;
    const std::int64_t of_keys = (b * p.key_heads + head / (p.heads / p.key_heads)) * p.keys;
    const std::int64_t position = p.causal == Causal::Yes ? i : i + p.keys - p.queries;
    std::vector<long double> scores;
    long double row_max = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j < p.keys; ++j) {
      long double score = 0;
      for (std::int64_t c = 0; c < p.width; ++c)
        score += static_cast<long double>(at(q, row * p.width + c)) * at(k, (of_keys + j) * p.width + c);
      score /= std::sqrt(static_cast<long double>(p.width));
      if (p.mask == Mask::Number) score += at(m, row * p.keys + j);
      const bool hidden = (p.causal == Causal::Yes && j > i) ||
                          (p.window > 0 && (j > position || j <= position - p.window)) ||
                          (p.mask == Mask::Bool && at(m, row * p.keys + j) == 0);
      scores.push_back(hidden ? -INFINITY : score);
      row_max = std::max(row_max, scores.back());
    }
    for (long double& score : scores) {
      score = std::isinf(row_max) ? 0 : std::exp(score - row_max);
      sum += score;
    }
    for (std::int64_t c = 0; c < p.value_width; ++c) {
      long double expected = 0, size = 0;
      for (std::int64_t j = 0; j < p.keys; ++j) {
        const long double term =
            scores[static_cast<std::size_t>(j)] * at(v, (of_keys + j) * p.value_width + c);
        expected += term;
        size += std::abs(term);
      }
      if (sum > 0) expected /= sum;
      if (sum > 0) size /= sum;
      const double actual = at(o, row * p.value_width + c);
      ASSERT_LE(std::abs(actual - static_cast<double>(expected)), unit * (1e-3 + static_cast<double>(size)))
          << "row " << row << " column " << c << ": " << actual << " for " << static_cast<double>(expected);
    }
    const double log = sum > 0 ? static_cast<double>(row_max + std::log(sum)) : -INFINITY;
    if (std::isinf(log)) {
      ASSERT_EQ(at(l, row), log) << "row " << row;
    } else {
      ASSERT_NEAR(at(l, row), log, unit * (1 + std::abs(log))) << "row " << row;
    }
  }
}

TEST(Attention, EveryOptionAgainstSums) {
  test::Random random;
  for (int round = 0; round < test::Random::share_of(120); ++round) {
    Problem p{};
    p.batch = random.pick({1, 1, 2});
    p.key_heads = random.pick({1, 2, 3});
    p.heads = p.key_heads * random.pick({1, 1, 2, 4});
    p.queries = random.pick({1, 1, 2, 7, 33, 70, 129});
    p.keys = random.pick({1, 5, 31, 64, 130, 300});
    if (round % 10 == 0) p.keys = 1500;
    p.width = random.pick({1, 8, 16, 20, 32, 64, 80});
    p.value_width = random.pick({1, 8, 16, 33, 64, 96});
    draw_options(random, 3, p);
    p.window = random.one_in(4) ? random.pick({1, 5, 100}) : 0;
    check(p);
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, ARowHasTheSameBitsInAnyCall) {
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    SCOPED_TRACE(name(dtype));
    constexpr std::int64_t kHeads = 4, kRows = 1300, kWidth = 64;
    const auto noise_of = [&](std::int64_t heads) {
      return to_copy(randn({2, heads, kRows, kWidth}), dtype);
    };
    const Tensor query = noise_of(kHeads), key = noise_of(2), value = noise_of(2);
    const Tensor all = std::get<0>(internal::attention(query, key, value, std::nullopt, Causal::Yes));
    for (const std::int64_t i : {0, 1, 7, 63, 64, 511, 512, 1023, 1024, 1299}) {
      // One query with the keys so far, alone and with other heads and batches.
      for (const std::int64_t b : {0, 1}) {
        const auto so_far = [&](const Tensor& t, std::int64_t first) {
          return t.slice(0, b, b + 1).slice(2, first, i + 1);
        };
        const Tensor one =
            std::get<0>(internal::attention(so_far(query, i), so_far(key, 0), so_far(value, 0)));
        EXPECT_EQ(test::bytes_of(one.contiguous()),
                  test::bytes_of(all.slice(0, b, b + 1).slice(2, i, i + 1).contiguous()))
            << "row " << i;
      }
      const Tensor few =
          std::get<0>(internal::attention(query.slice(2, 0, i + 1), key.slice(2, 0, i + 1),
                                          value.slice(2, 0, i + 1), std::nullopt, Causal::Yes));
      EXPECT_EQ(test::bytes_of(few.slice(2, i, i + 1).contiguous()),
                test::bytes_of(all.slice(2, i, i + 1).contiguous()))
          << "rows up to " << i;
    }
  }
}

// Where there are few heads, threads take keys and columns.
TEST(Attention, ThreadsThatShareAHeadProduceTheSameBits) {
  const int before = thread_count();
  test::Random random;
  for (int round = 0; round < test::Random::share_of(200); ++round) {
    Problem p{};
    p.batch = random.pick({1, 1, 2});
    p.key_heads = random.pick({1, 1, 3});
    p.heads = p.key_heads * random.pick({1, 2, 3});
    p.queries = random.pick({1, 1, 1, 2});
    p.keys = random.pick({700, 1024, 1025, 2600, 5000});
    p.width = random.pick({16, 20, 64, 80});
    p.value_width = random.pick({1, 16, 33, 64, 96});
    draw_options(random, 6, p);
    p.window = random.one_in(4) ? random.pick({5, 300, 2000}) : 0;
    SCOPED_TRACE(to_string(p));
    const Operands operands(p);
    const Tensor& key = operands.key;
    if (random.one_in(8)) key.select(2, 600).fill_(std::numeric_limits<double>::quiet_NaN());
    if (random.one_in(4)) key.slice(2, 650, 700).mul_(20);  // the maximum changes late
    const auto results = [&](int threads) {
      set_thread_count(threads);
      const auto [out, logs] = operands.attend(p);
      return std::pair(test::bytes_of(out.contiguous()), test::bytes_of(logs.contiguous()));
    };
    const auto alone = results(1);
    for (const int threads : {2, 16}) EXPECT_EQ(results(threads), alone) << threads << " threads";
    set_thread_count(before);
    if (HasFailure()) return;
  }
}

TEST(Attention, AMaskEqualToTheCausalOneProducesTheSameBits) {
  for (const DType dtype : {kF32, kF64, kBF16}) {
    for (const std::int64_t width : {8, 24, 64}) {  // scales that are powers of 2, and others
      for (const std::int64_t queries : {1, 37}) {
        const std::int64_t keys = 300 + queries;
        const auto noise_of = [&](std::int64_t rows) { return to_copy(randn({2, 3, rows, width}), dtype); };
        const Tensor query = noise_of(queries), key = noise_of(keys), value = noise_of(keys);
        const Tensor mask = le(arange(keys), arange(300, keys).unsqueeze(1));
        for (const std::optional<double> scale : {std::optional<double>(), {-0.7}, {0.0}}) {
          const auto [masked, masked_logs] = internal::attention(query, key, value, mask, Causal::No, scale);
          const auto [windowed, logs] =
              internal::attention(query, key, value, std::nullopt, Causal::No, scale, keys);
          EXPECT_EQ(test::bytes_of(masked), test::bytes_of(windowed)) << name(dtype) << " " << width;
          EXPECT_EQ(test::bytes_of(masked_logs), test::bytes_of(logs)) << name(dtype) << " " << width;
        }
      }
    }
  }
}

TEST(Attention, MemoryGrowsWithTheSequence) {
  const auto peak = [](std::int64_t rows) {
    const Tensor x = randn({1, 2, rows, 64});
    reset_peak_memory();
    const std::int64_t before = memory_stats().peak_data_bytes;
    scaled_dot_product_attention(x, x, x);
    return memory_stats().peak_data_bytes - before;
  };
  peak(1024);
  EXPECT_LE(peak(4096), 5 * peak(1024));
}

TEST(Attention, LeadingAxesBroadcast) {
  const Tensor query = randn({5, 3, 4, 6, 16}), key = randn({3, 1, 7, 16}), value = randn({1, 4, 7, 8});
  const Tensor out = scaled_dot_product_attention(query, key, value);
  EXPECT_EQ(to_string(out.sizes()), "[5, 3, 4, 6, 8]");
  const Tensor one =
      scaled_dot_product_attention(query.select(0, 2).select(0, 1).select(0, 3),
                                   key.select(0, 1).select(0, 0), value.select(0, 0).select(0, 3));
  EXPECT_EQ(test::bytes_of(out.select(0, 2).select(0, 1).select(0, 3).contiguous()),
            test::bytes_of(one.contiguous()));
}

TEST(Attention, NanAndHiddenRows) {
  Tensor query = randn({1, 1, 3, 16}), key = randn({1, 1, 5, 16});
  const Tensor value = randn({1, 1, 5, 4});
  query.select(2, 1).fill_(std::nan(""));
  const Tensor mask = zeros({3, 5}, {kBool});
  mask.select(0, 0).fill_(true);
  mask.select(0, 1).fill_(true);
  const std::vector<double> out = values_of(scaled_dot_product_attention(query, key, value, mask));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_TRUE(std::isfinite(out[c]));
    EXPECT_TRUE(std::isnan(out[4 + c]));
    EXPECT_EQ(out[8 + c], 0);
  }
}

TEST(Attention, RotaryEmbeddingRotatesPairs) {
  const Tensor x = randn({2, 3, 5, 8}), angle = randn({5, 4});
  const Tensor cosine = cos(angle), sine = sin(angle);
  for (const Interleaved interleaved : {Interleaved::No, Interleaved::Yes}) {
    const std::vector<double> in = values_of(x),
                              rotated = values_of(rotary_embedding(x, cosine, sine, interleaved)),
                              c = values_of(cosine), s = values_of(sine);
    for (std::size_t row = 0; row < 30; ++row) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t a = row * 8 + (interleaved == Interleaved::Yes ? 2 * i : i);
        const std::size_t b = interleaved == Interleaved::Yes ? a + 1 : a + 4;
        const double co = c[row % 5 * 4 + i], si = s[row % 5 * 4 + i];
        EXPECT_NEAR(rotated[a], in[a] * co - in[b] * si, 1e-6);
        EXPECT_NEAR(rotated[b], in[b] * co + in[a] * si, 1e-6);
      }
    }
  }
}

TEST(Attention, ErrorsSayWhatToDo) {
  using test::thrown_by;
  const Tensor x = ones({1, 4, 5, 8}), few = ones({1, 2, 5, 8});
  EXPECT_EQ(thrown_by<ShapeError>([&] { scaled_dot_product_attention(x, few, few); }).message(),
            "leading axes of query [1, 4, 5, 8], key [1, 2, 5, 8] and value [1, 2, 5, 8] do not broadcast; "
            "where key and "
            "value have fewer heads, ask for grouped heads (enable_gqa)");
  EXPECT_EQ(thrown_by<ShapeError>([&] {
              internal::attention(x, ones({1, 3, 5, 8}), ones({1, 3, 5, 8}));
            }).message(),
            "4 heads of queries are not a multiple of 3 heads of keys");
  EXPECT_EQ(thrown_by<ShapeError>([&] { internal::attention(x, ones({1, 4, 5, 9}), x); }).message(),
            "queries of 8 columns and keys of 9");
  EXPECT_EQ(thrown_by<DTypeError>([&] { internal::attention(x, x, to_copy(x, kBF16)); }).message(),
            "query, key and value have one dtype; f32[1, 4, 5, 8] and bf16[1, 4, 5, 8] do not: convert one "
            "of them");
  EXPECT_EQ(thrown_by<DTypeError>([&] { internal::attention(x, x, x, ones({5, 5}, kI64)); }).message(),
            "a mask is bool, or of the dtype of the operands, f32; it is i64[5, 5]: convert it");
  EXPECT_EQ(thrown_by<ValueError>([&] {
              internal::attention(x, x, x, std::nullopt, Causal::No, std::nullopt, 0);
            }).message(),
            "a window has 1 key or more, not 0");
  EXPECT_EQ(thrown_by<ShapeError>([&] { rotary_embedding(x, ones({5, 8}), ones({5, 8})); }).message(),
            "cos and sin must have a column for each of the 4 pairs of f32[1, 4, 5, 8], not f32[5, 8]");
}

}  // namespace
}  // namespace pel

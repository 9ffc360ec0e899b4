// Scans, sorting and searching: the same bits for any threads and layout, and the errors.
#include "pellucid/ops/sorting.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops/random.h"
#include "pellucid/threads.h"

#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::bytes_of;
using test::thrown_by;

// Returns values of every kind, with repetitions, NaN and both zeros.
Tensor sample(Dims sizes, DType dtype) {
  Generator generator(7);
  if (!is_floating(dtype)) return randint(0, dtype == kBool ? 2 : 100, sizes, dtype, generator);
  Tensor t = randn(sizes, kF32, generator);
  auto* values = t.data<float>();
  for (std::int64_t i = 0; i < t.numel().value(); ++i) {
    if (i % 11 == 3) values[i] = std::round(values[i]);
    if (i % 97 == 5) values[i] = std::numeric_limits<float>::quiet_NaN();
    if (i % 31 == 8) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  return t.to(dtype);
}

struct AlongAxis {
  const char* name;
  std::function<std::vector<Tensor>(const Tensor&, std::int64_t axis)> run;
  DTypeSet dtypes = kAllDTypes;
};

std::vector<Tensor> list(const std::tuple<Tensor, Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}

std::vector<AlongAxis> ops_along_an_axis() {
  constexpr DTypeSet kNoBool = kFloating | kIntegral;
  return {
      {"cumsum", [](const Tensor& x, std::int64_t axis) { return std::vector{cumsum(x, axis)}; }},
      {"cumprod", [](const Tensor& x, std::int64_t axis) { return std::vector{cumprod(x, axis)}; }},
      {"logcumsumexp", [](const Tensor& x, std::int64_t axis) { return std::vector{logcumsumexp(x, axis)}; },
       kFloating},
      {"cummax", [](const Tensor& x, std::int64_t axis) { return list(cummax(x, axis)); }},
      {"cummin", [](const Tensor& x, std::int64_t axis) { return list(cummin(x, axis)); }},
      {"sort", [](const Tensor& x, std::int64_t axis) { return list(sort(x, axis)); }},
      {"sort descending",
       [](const Tensor& x, std::int64_t axis) { return list(sort(x, axis, Descending::Yes)); }},
      {"topk", [](const Tensor& x, std::int64_t axis) { return list(topk(x, 3, axis)); }, kNoBool},
      {"topk of most",
       [](const Tensor& x, std::int64_t axis) { return list(topk(x, x.size(axis) - 1, axis)); }, kNoBool},
      {"topk smallest",
       [](const Tensor& x, std::int64_t axis) { return list(topk(x, 5, axis, Largest::No)); }, kNoBool},
      {"kthvalue", [](const Tensor& x, std::int64_t axis) { return list(kthvalue(x, 4, axis)); }, kNoBool},
      {"median", [](const Tensor& x, std::int64_t axis) { return list(median(x, axis)); }, kNoBool},
  };
}

// Compares every layout of the same numbers, on one thread and on three, with one row at a time.
TEST(Sorting, ThreadsAndLayoutsProduceTheSameBits) {
  const int threads_before = thread_count();
  for (const AlongAxis& op : ops_along_an_axis()) {
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!op.dtypes.contains(dtype)) continue;
      const std::int64_t rows = 37, length = dtype == kF32 ? 1203 : 211;
      const Tensor x = sample({rows, length}, dtype);
      set_thread_count(1);
      std::vector<std::vector<char>> expected;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::vector<Tensor> results = op.run(x.select(0, r), 0);
        for (std::size_t i = 0; i < results.size(); ++i) {
          if (r == 0) expected.emplace_back();
          const std::vector<char> bytes = bytes_of(results[i]);
          expected[i].insert(expected[i].end(), bytes.begin(), bytes.end());
        }
      }
      const Tensor transposed = x.t().clone(Layout::RowMajor);  // its rows are the columns of x
      Tensor wide = empty({rows, 2 * length}, dtype);
      wide.slice(1, 0, 2 * length, 2).copy_(x);
      Tensor spread = empty({length, 3, rows}, dtype);
      spread.select(1, 1).copy_(x.t());
      const std::pair<Tensor, std::int64_t> layouts[] = {{x, 1},
                                                         {transposed, 0},
                                                         {transposed.t(), 1},
                                                         {wide.slice(1, 0, 2 * length, 2), 1},
                                                         {spread.select(1, 1), 0}};
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        for (const auto& [layout, axis] : layouts) {
          const std::vector<Tensor> results = op.run(layout, axis);
          for (std::size_t i = 0; i < results.size(); ++i) {
            const bool columns = axis == 0 && results[i].dim() == 2;
            EXPECT_EQ(bytes_of(columns ? results[i].t() : results[i]), expected[i])
                << op.name << " " << name(dtype) << " axis " << axis << " strides "
                << to_string(layout.strides()) << " threads " << threads << " result " << i;
          }
        }
      }
    }
  }
  set_thread_count(threads_before);
}

TEST(Sorting, AnExpandedRowSortsAsItsCopyDoes) {
  const Tensor row = sample({300}, kF32), expanded = row.expand({4, 300});
  EXPECT_EQ(bytes_of(std::get<1>(sort(expanded))),
            bytes_of(std::get<1>(sort(expanded.clone(Layout::RowMajor)))));
  EXPECT_EQ(bytes_of(cumsum(row.view({300, 1}).expand({300, 5}), 0)),
            bytes_of(cumsum(row.view({300, 1}).expand({300, 5}).clone(Layout::RowMajor), 0)));
}

TEST(Sorting, LongRowsAreSortedStably) {
  for (const std::int64_t length : {159, 160, 161, 16383, 16384, 40000}) {
    for (const DType dtype : {kF32, kI64, kF64, kBF16, kU8}) {
      const Tensor x = sample({length}, dtype);
      const auto [values, indices] = sort(x);
      std::vector<std::int64_t> order(static_cast<std::size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      const Tensor wide = x.to(kF64);
      const auto* numbers = wide.data<const double>();
      const auto is_before = [&](std::int64_t a, std::int64_t b) {
        return numbers[a] < numbers[b] || (std::isnan(numbers[b]) && !std::isnan(numbers[a]));
      };
      std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return is_before(a, b) || (!is_before(b, a) && a < b);
      });
      const auto* actual = indices.data<const std::int64_t>();
      EXPECT_TRUE(std::equal(order.begin(), order.end(), actual)) << length << " " << name(dtype);
    }
  }
}

TEST(Sorting, TopkTakesTheLowestIndexOfEqualElements) {
  const Tensor x = full({5000}, 2.0);
  for (const std::int64_t k : {1, 7, 5000}) {
    const Tensor indices = std::get<1>(topk(x, k));
    EXPECT_EQ(bytes_of(indices), bytes_of(arange(k))) << k;
  }
}

TEST(Sorting, TopkIsTheBeginningOfTheSortedRow) {
  for (const DType dtype : {kF32, kF16, kI32, kF64, kI64}) {
    const Tensor x = sample({3, 20000}, dtype);
    for (const std::int64_t k : {1, 2, 50, 1000, 2500, 19999}) {
      const auto [values, indices] = topk(x, k);
      const auto [sorted, order] = sort(x, 1, Descending::Yes);
      EXPECT_EQ(bytes_of(indices), bytes_of(order.slice(1, 0, k))) << name(dtype) << " " << k;
      EXPECT_EQ(bytes_of(values), bytes_of(sorted.slice(1, 0, k))) << name(dtype) << " " << k;
    }
  }
}

TEST(Sorting, SumsOfMillionsOfOnesStayExact) {
  const Tensor sums = cumsum(ones({1 << 25}), 0);
  EXPECT_EQ(sums.select(0, (1 << 25) - 1).item().to_double(), 0x1p25);  // a running f32 sum stops at 2^24
}

TEST(Sorting, LogcumsumexpIsAccurate) {
  const Tensor x = sample({1, 3000}, kF64).slice(1, 0, 5);
  Tensor y = tensor({-1000.0, -1000.0, 0.5, 700.0, -3.0, 1e-3}, kF64);
  long double sum = 0;
  const Tensor actual = logcumsumexp(y, 0);
  for (std::int64_t i = 0; i < 6; ++i) {
    sum += std::exp(static_cast<long double>(y.select(0, i).item().to_double()));
    const auto expected = static_cast<double>(std::log(sum));
    if (std::isfinite(expected)) {
      EXPECT_NEAR(actual.select(0, i).item().to_double(), expected, 4e-16 * std::abs(expected));
    }
  }
}

TEST(Sorting, UniqueCountsAndFindsBack) {
  const Tensor x = tensor({{3, 1, 3}, {2, 1, 3}});
  const auto [values, inverse, counts] = unique(x, Sorted::Yes, ReturnInverse::Yes, ReturnCounts::Yes);
  EXPECT_EQ(bytes_of(values), bytes_of(tensor({1, 2, 3})));
  EXPECT_EQ(bytes_of(inverse), bytes_of(tensor({{2, 0, 2}, {1, 0, 2}})));
  EXPECT_EQ(bytes_of(counts), bytes_of(tensor({2, 1, 3})));
  EXPECT_EQ(std::get<1>(unique(x)).numel(), 0);
}

TEST(Sorting, ErrorsSayWhatToDo) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(thrown_by<ValueError>([&] { topk(x, 4); }).message(),
            "k is 4; it must be from 0 to the size of axis -1 of f32[2, 3], 3");
  EXPECT_EQ(thrown_by<ValueError>([&] { kthvalue(x, 0, 1); }).message(),
            "k is 0; axis 1 of f32[2, 3] has elements 1 to 3");
  EXPECT_EQ(thrown_by<IndexError>([&] { median(zeros({2, 0}), 1); }).message(),
            "axis 1 of f32[2, 0] has no elements to choose from");
  EXPECT_EQ(thrown_by<IndexError>([&] { cumsum(x, 2); }).op(), "cumsum");
  EXPECT_EQ(thrown_by<DTypeError>([&] { logcumsumexp(ones({2}, kI64), 0); }).message(),
            "expected operands of dtype f64, f32, f16, bf16; one is i64[2]");
  EXPECT_EQ(thrown_by<ShapeError>([&] { searchsorted(ones({2, 3}), ones({3, 3})); }).message(),
            "boundaries f32[2, 3] with several axes serve values of the same sizes but for the last axis, "
            "not f32[3, 3]");
  EXPECT_EQ(thrown_by<ValueError>([&] {
              searchsorted(ones({2}), ones({1}), OutInt32::No, Side::Left, tensor({0, 2}));
            }).message(),
            "the sorter contains 2; expected an index into 2 boundaries");
  EXPECT_EQ(thrown_by<ValueError>([&] { bincount(tensor({1, -3})); }).message(),
            "an element is -3; only integers from 0 on are counted");
  EXPECT_EQ(thrown_by<ShapeError>([&] { bincount(tensor({1, 3}), ones({3})); }).message(),
            "each element has a weight: i64[2] goes with weights of the same size, not f32[3]");
  EXPECT_EQ(thrown_by<ValueError>([&] { histc(ones({3}), 4, 2, 1); }).message(),
            "the range goes from 2 to 1; expected finite numbers, min first");
  EXPECT_EQ(thrown_by<ValueError>([&] { histc(tensor({1., std::nan("")})); }).message(),
            "the elements are between nan and nan; pass a finite range as min and max");
  EXPECT_EQ(thrown_by<ValueError>([&] { median(zeros({0}, kI32)); }).message(),
            "i32[0] has no elements, and its dtype has no NaN to say so");
}

}  // namespace
}  // namespace pel

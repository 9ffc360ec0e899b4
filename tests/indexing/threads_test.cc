// Sources of one element are applied in their order, for any number of threads.
#include "pellucid/threads.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "support/random.h"

namespace pel {
namespace {

class OnThreads {
 public:
  explicit OnThreads(int count) { set_thread_count(count); }
  ~OnThreads() { set_thread_count(before_); }
  OnThreads(const OnThreads&) = delete;
  OnThreads& operator=(const OnThreads&) = delete;

 private:
  int before_ = thread_count();
};

// Returns numbers of many magnitudes: their sum depends on the order.
Tensor mixed_magnitudes(test::Random& random, Dims sizes, DType dtype) {
  Tensor t = empty(sizes, kF32);
  auto* data = t.data<float>();
  for (std::int64_t i = 0; i < t.numel().value(); ++i) {
    const auto value = static_cast<float>(random.between(-1000000, 1000000));
    data[i] = value * (random.one_in(3) ? 1e-4f : 1e-6f);
  }
  return t.to(dtype);
}

Tensor random_indices(test::Random& random, Dims sizes, std::int64_t size) {
  Tensor t = empty(sizes, kI64);
  auto* data = t.data<std::int64_t>();
  for (std::int64_t i = 0; i < t.numel().value(); ++i) data[i] = random.between(0, size - 1);
  return t;
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(to_string(a.sizes()), to_string(b.sizes()));
  const auto bytes = static_cast<std::size_t>(a.numel().value() * size_bytes(a.dtype()));
  EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), bytes), 0);
}

template <class F>
void expect_same_on_any_threads(F&& call) {
  Tensor one;
  {
    const OnThreads threads(1);
    one = call();
  }
  for (const int count : {2, 3}) {
    const OnThreads threads(count);
    expect_same_bits(call(), one);
  }
}

constexpr DType kFloats[] = {kF64, kF32, kF16, kBF16};

TEST(SourcesInOrder, ScatterAddProducesTheSameBitsOnOneAndThreeThreads) {
  test::Random random;
  for (const DType dtype : kFloats) {
    for (const std::int64_t axis : {0, 1}) {
      const Tensor self = mixed_magnitudes(random, {300, 400}, dtype),
                   src = mixed_magnitudes(random, {600, 900}, dtype);
      const Tensor index = random_indices(random, axis == 0 ? Dims({600, 400}) : Dims({300, 900}), 7);
      expect_same_on_any_threads([&] { return scatter_add(self, axis, index, src); });
    }
    const Tensor flat = mixed_magnitudes(random, {50}, dtype),
                 many = mixed_magnitudes(random, {100000}, dtype);
    const Tensor index = random_indices(random, {100000}, 50);
    expect_same_on_any_threads([&] { return scatter_add(flat, 0, index, many); });
  }
}

TEST(SourcesInOrder, IndexPutProducesTheSameBitsOnOneAndThreeThreads) {
  test::Random random;
  for (const DType dtype : kFloats) {
    const Tensor self = mixed_magnitudes(random, {40, 30, 64}, dtype),
                 index = random_indices(random, {500}, 30);
    for (const Accumulate accumulate : {Accumulate::No, Accumulate::Yes}) {
      const Tensor rows = mixed_magnitudes(random, {500, 30, 64}, dtype),
                   inner = mixed_magnitudes(random, {40, 500, 64}, dtype);
      expect_same_on_any_threads([&] { return index_put(self, {index}, rows, accumulate); });
      expect_same_on_any_threads([&] { return index_put(self, {index}, inner, accumulate, {1}); });
      const Tensor single = mixed_magnitudes(random, {500, 500}, dtype);
      expect_same_on_any_threads(
          [&] { return index_put(self, {index.view({500, 1}), index, index}, single, accumulate); });
    }
  }
}

TEST(SourcesInOrder, AreAppliedAsInALoop) {
  test::Random random;
  const Tensor self = mixed_magnitudes(random, {20, 33}, kF32),
               src = mixed_magnitudes(random, {400, 33}, kF32);
  const Tensor index = random_indices(random, {400}, 20);
  const Tensor result = index_put(self, {index}, src, Accumulate::Yes);
  Tensor expected = self.clone();
  for (std::int64_t i = 0; i < 400; ++i) {
    for (std::int64_t j = 0; j < 33; ++j) {
      const std::int64_t row = index.data<std::int64_t>()[i];
      expected.data<float>()[row * 33 + j] += src.data<float>()[i * 33 + j];
    }
  }
  expect_same_bits(result, expected);
  // The order is that of the indices, not of memory.
  const Tensor transposed = src.t().clone(Layout::RowMajor).t();
  expect_same_bits(index_put(self, {index}, transposed, Accumulate::Yes), expected);
  const Tensor wide = index.view({400, 1}).expand({400, 33});
  expect_same_bits(scatter_add(self, 0, wide, src), expected);
  expect_same_bits(scatter_add(self, 0, wide, transposed), expected);
}

TEST(SourcesInOrder, TheLastSourceWins) {
  const Tensor index = tensor({1, 0, 1, 1}, kI64), values = tensor({1, 2, 3, 4}, kF32);
  EXPECT_EQ(to_string(index_put(zeros({2}), {index}, values)), to_string(tensor({2, 4}, kF32)));
  EXPECT_EQ(to_string(scatter(zeros({2}), 0, index, values)), to_string(tensor({2, 4}, kF32)));
}

TEST(Gather, ProducesTheSameBitsOnOneAndThreeThreads) {
  test::Random random;
  const Tensor x = mixed_magnitudes(random, {500, 300}, kF32),
               index = random_indices(random, {500, 300}, 300);
  const Tensor ids = random_indices(random, {900}, 500);
  const Tensor mask = random_indices(random, {500, 300}, 2).to(kBool);
  expect_same_on_any_threads([&] { return gather(x, 1, index); });
  expect_same_on_any_threads([&] { return embedding(x, ids); });
  expect_same_on_any_threads([&] { return nonzero(mask); });
  expect_same_on_any_threads([&] { return masked_select(x, mask); });
  expect_same_on_any_threads([&] { return cat({x, x.slice(1, 0, 77), x}, 1); });
  expect_same_on_any_threads([&] { return roll(flip(x, {0, 1}), {7, -9}, {0, 1}); });
  expect_same_on_any_threads([&] { return pad(x.unsqueeze(0), {3, 5, 2, 1}, PadMode::Reflect); });
}

}  // namespace
}  // namespace pel

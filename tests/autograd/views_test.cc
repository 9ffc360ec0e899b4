// Random programs of views and writes through them, compared with finite differences.
#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

constexpr int kPrograms = 150;

Tensor random_view(const Tensor& t, std::mt19937_64& random) {
  const auto axis =
      t.dim() == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(t.dim()));
  const std::int64_t size = t.dim() == 0 ? 1 : t.size(axis).value();
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  if (t.dim() == 0) return t.view({1});
  switch (random() % 7) {
    case 0:
      return t.select(axis, below(size));
    case 1: {
      const std::int64_t begin = below(size);
      return t.slice(axis, begin, begin + 1 + below(size - begin));
    }
    case 2:
      return t.transpose(axis, -1);
    case 3:
      return t.unsqueeze(axis);
    case 4:
      return t.slice(axis, below(size), size, 2);
    case 5:
      return t.is_contiguous() ? t.view({-1}) : t.transpose(0, -1);
    default: {
      const std::vector<Tensor> parts = t.split(1 + below(size), axis);
      return parts[random() % parts.size()];
    }
  }
}

// Writes into views of a copy of x and of a buffer, some made before the writes, and returns all of them.
std::vector<Tensor> run_program(std::uint64_t seed, const Tensor& x, const Tensor& w) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> live = {x * 1.5, zeros({3, 4}, kF64)};
  for (int i = 0; i < 8; ++i) {
    const Tensor from = live[random() % live.size()];
    const Tensor view = random() % 3 == 0 ? from : random_view(from, random);
    if (random() % 2 == 0) live.push_back(view);
    switch (random() % 5) {
      case 0:
        view.copy_(sum(w) * w.select(0, 0));
        break;
      case 1:
        add_(view, sum(w * w));
        break;
      case 2:
        mul_(view, 0.5);
        break;
      case 3:
        view.fill_(2);
        break;
      default:
        live.push_back(view * 3 + w.select(0, 1));
    }
  }
  return live;
}

TEST(Views, WritesThroughThemHaveTheRightGradient) {
  const char* only = std::getenv("PELLUCID_SEED");
  const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1, count = only ? 1 : kPrograms;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Sampler sampler(seed);
    const Tensor x = sampler({3, 4}).requires_grad_(), w = sampler({2}).requires_grad_();
    std::string wrong;
    try {
      wrong = gradcheck([&](ArrayView<Tensor> in) { return run_program(seed, in[0], in[1]); }, {x, w});
    } catch (const Error& error) {
      wrong = error.what();
    }
    EXPECT_EQ(wrong, "") << fmt::format("PELLUCID_SEED={} ./dev test Views", seed);
  }
}

TEST(Views, ALeafIsNotWrittenTo) {
  const Tensor x = ones({4}).requires_grad_();
  EXPECT_THROW(add_(x, 1), ValueError);
  EXPECT_THROW(x.slice(0, 1, 2).fill_(1), ValueError);
  const NoGrad no_grad;
  add_(x, 1);
  EXPECT_EQ(x.version(), 1u);
}

TEST(Views, ADetachedTensorStaysApart) {
  const Tensor x = ones({2, 2}, kF64).requires_grad_();
  const Tensor y = x * 2, apart = y.detach(), row = apart.select(0, 0);
  mul_(y.select(0, 1), 3);
  EXPECT_FALSE(apart.requires_grad());
  EXPECT_FALSE(row.requires_grad());
  EXPECT_THROW(row.copy_(sum(x).expand({2})), AliasError);
}

TEST(Views, OfADeadBaseAreStillItsViews) {
  const Tensor x = ones({2}, kF64).requires_grad_();
  Tensor buffer = zeros({2, 2}, kF64);
  const Tensor top = buffer.select(0, 0), bottom = buffer.select(0, 1), column = buffer.select(1, 0);
  buffer = Tensor();
  bottom.copy_(x * 3);
  EXPECT_TRUE(column.requires_grad());
  sum(column * column).backward();
  EXPECT_EQ(x.grad().select(0, 0).item().to_double(), 18);
  EXPECT_EQ(x.grad().select(0, 1).item().to_double(), 0);
  EXPECT_TRUE(top.requires_grad());
}

}  // namespace
}  // namespace pel

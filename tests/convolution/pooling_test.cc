// Checks pooling and resampling against plain loops in double, over random dtypes, layouts and windows.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/environment.h"
#include "support/errors.h"

namespace pel {
namespace {

using Ints = std::vector<std::int64_t>;

// [batch, channels, height, width], with some equal elements; channels last, with gaps, or row-major.
Tensor image(const Ints& sizes, DType dtype, int layout, std::uint64_t seed) {
  Generator generator(seed);
  const Tensor values = to_copy(
      randint(dtype == kU8 ? 0 : -9, 10, {sizes[0], sizes[1], sizes[2], sizes[3]}, {}, generator), dtype);
  if (layout == 1) return values.permute({0, 2, 3, 1}).clone(Layout::RowMajor).permute({0, 3, 1, 2});
  if (layout == 2) {
    const Tensor wide = zeros({sizes[0], sizes[1], sizes[2], 2 * sizes[3] + 1}, dtype);
    const Tensor part = wide.slice(3, 1, std::nullopt, 2);
    part.copy_(values);
    return part;
  }
  return values;
}

std::vector<double> doubles_of(const Tensor& t) {
  const Tensor wide = to_copy(t, kF64).clone(Layout::RowMajor);
  const double* p = wide.data<const double>();
  return {p, p + wide.numel().value()};
}

struct PoolCase {
  Ints sizes;
  Ints kernel, stride, padding, dilation;
  bool ceil = false;
  int layout = 0;
  DType dtype = kF32;
  std::string name() const {
    return fmt::format("{} {} layout {} kernel {} s{} p{} d{}{}", pel::name(dtype), sizes, layout, kernel,
                       stride, padding, dilation, ceil ? " ceil" : "");
  }
  std::int64_t out(std::size_t axis) const {
    const std::int64_t in = sizes[2 + axis], reach = (kernel[axis] - 1) * dilation[axis] + 1;
    const std::int64_t slack = in + 2 * padding[axis] - reach + (ceil ? stride[axis] - 1 : 0);
    std::int64_t count = slack < 0 ? 0 : slack / stride[axis] + 1;
    if (ceil && (count - 1) * stride[axis] >= in + padding[axis]) --count;
    return count;
  }
};

PoolCase random_case(std::mt19937& random, bool dilates) {
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
  };
  while (true) {
    PoolCase c;
    c.sizes = {pick({1, 2, 3}), pick({1, 3, 8, 11, 40}), pick({1, 2, 5, 9, 16}), pick({1, 3, 7, 8, 19, 33})};
    c.layout = static_cast<int>(pick({0, 0, 1, 1, 2}));
    c.ceil = random() % 3 == 0;
    for (int i = 0; i < 2; ++i) {
      c.kernel.push_back(pick({1, 2, 3, 3, 5}));
      c.stride.push_back(pick({1, 2, 2, 3}));
      c.dilation.push_back(dilates ? pick({1, 1, 2}) : 1);
      c.padding.push_back(pick({0, c.kernel.back() / 2}));
    }
    if (c.out(0) >= 1 && c.out(1) >= 1) return c;
  }
}

// Calls f(n and channel, oh, ow, elements of the window in order with their indices, size with padding).
template <class F>
void for_windows(const PoolCase& c, const std::vector<double>& x, F&& f) {
  struct Element {
    double value;
    std::int64_t index;
  };
  const std::int64_t height = c.sizes[2], width = c.sizes[3];
  for (std::int64_t plane = 0; plane < c.sizes[0] * c.sizes[1]; ++plane) {
    for (std::int64_t oh = 0; oh < c.out(0); ++oh) {
      for (std::int64_t ow = 0; ow < c.out(1); ++ow) {
        std::vector<Element> window;
        for (std::int64_t kh = 0; kh < c.kernel[0]; ++kh) {
          for (std::int64_t kw = 0; kw < c.kernel[1]; ++kw) {
            const std::int64_t h = oh * c.stride[0] - c.padding[0] + kh * c.dilation[0],
                               w = ow * c.stride[1] - c.padding[1] + kw * c.dilation[1];
            if (h < 0 || w < 0 || h >= height || w >= width) continue;
            window.push_back({x[static_cast<std::size_t>((plane * height + h) * width + w)], h * width + w});
          }
        }
        const auto whole = [&](std::size_t axis, std::int64_t o) {
          const std::int64_t first = o * c.stride[axis] - c.padding[axis];
          return std::min(first + c.kernel[axis], c.sizes[2 + axis] + c.padding[axis]) - first;
        };
        f((plane * c.out(0) + oh) * c.out(1) + ow, window, whole(0, oh) * whole(1, ow));
      }
    }
  }
}

TEST(Pooling, TheMaxOfEachWindowAndItsIndex) {
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < 600 / test::test_share(); ++i) {
    PoolCase c = random_case(random, true);
    constexpr DType kTypes[] = {kF32, kF32, kF32, kBF16, kF16, kF64, kI64, kU8};
    c.dtype = kTypes[random() % std::size(kTypes)];
    const Tensor x = image(c.sizes, c.dtype, c.layout, static_cast<std::uint64_t>(i));
    const auto [maxima, index_tensor] = max_pool2d_with_indices(x, c.kernel, c.stride, c.padding, c.dilation,
                                                                c.ceil ? CeilMode::Yes : CeilMode::No);
    const std::vector<double> values = doubles_of(maxima), indices = doubles_of(index_tensor);
    bool right = true;
    for_windows(c, doubles_of(x), [&](std::int64_t at, const auto& window, std::int64_t) {
      if (window.empty()) return;
      auto best = window[0];
      for (const auto& element : window) {
        if (element.value > best.value) best = element;
      }
      const auto index = static_cast<std::size_t>(at);
      right = right && values[index] == best.value && indices[index] == static_cast<double>(best.index);
    });
    EXPECT_TRUE(right) << c.name();
  }
}

TEST(Pooling, TheMeanOfEachWindow) {
  std::mt19937 random(2);
  for (std::int64_t i = 0; i < 600 / test::test_share(); ++i) {
    PoolCase c = random_case(random, false);
    constexpr DType kTypes[] = {kF32, kF32, kF32, kBF16, kF16, kF64};
    c.dtype = kTypes[random() % std::size(kTypes)];
    const auto counts = random() % 2 == 0 ? CountIncludePad::Yes : CountIncludePad::No;
    const std::optional<std::int64_t> divisor =
        random() % 4 == 0 ? std::optional<std::int64_t>(3) : std::nullopt;
    const Tensor x = image(c.sizes, c.dtype, c.layout, static_cast<std::uint64_t>(i));
    const std::vector<double> means = doubles_of(
        avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil ? CeilMode::Yes : CeilMode::No, counts, divisor));
    const double digits = c.dtype == kF64   ? 0x1p-50
                          : c.dtype == kF32 ? 0x1p-23
                          : c.dtype == kF16 ? 0x1p-10
                                            : 0x1p-7;
    bool right = true;
    for_windows(c, doubles_of(x), [&](std::int64_t at, const auto& window, std::int64_t with_padding) {
      double sum = 0;  // of small integers: exact
      for (const auto& element : window) sum += element.value;
      const double count = divisor                          ? static_cast<double>(*divisor)
                           : counts == CountIncludePad::Yes ? static_cast<double>(with_padding)
                                                            : static_cast<double>(window.size());
      const double actual = means[static_cast<std::size_t>(at)];
      right = right && (window.empty() || std::abs(actual - sum / count) <= digits * std::abs(sum / count));
    });
    EXPECT_TRUE(right) << c.name();
  }
}

TEST(Pooling, AdaptiveWindowsCoverTheInput) {
  for (const int layout : {0, 1, 2}) {
    for (const Ints& out : {Ints{1, 1}, Ints{2, 3}, Ints{5, 7}, Ints{9, 20}}) {
      const Tensor x = image({2, 19, 7, 11}, kF32, layout, 5);
      const std::vector<double> values = doubles_of(x);
      const std::vector<double> means = doubles_of(adaptive_avg_pool2d(x, {out[0], out[1]}));
      const auto [maxima, index_tensor] = adaptive_max_pool2d(x, {out[0], out[1]});
      const std::vector<double> best = doubles_of(maxima);
      std::size_t at = 0;
      for (std::int64_t plane = 0; plane < 38; ++plane) {
        for (std::int64_t i = 0; i < out[0]; ++i) {
          for (std::int64_t j = 0; j < out[1]; ++j, ++at) {
            double sum = 0, max_value = -100, count = 0;
            for (std::int64_t h = i * 7 / out[0]; h < (i * 7 + 7 + out[0] - 1) / out[0]; ++h) {
              for (std::int64_t w = j * 11 / out[1]; w < (j * 11 + 11 + out[1] - 1) / out[1]; ++w, ++count) {
                const double value = values[static_cast<std::size_t>((plane * 7 + h) * 11 + w)];
                sum += value;
                max_value = std::max(max_value, value);
              }
            }
            ASSERT_NEAR(means[at], sum / count, 1e-6 * (1 + std::abs(sum / count)));
            ASSERT_EQ(best[at], max_value);
          }
        }
      }
    }
  }
}

TEST(Pooling, ANaNWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t channels : {1, 16}) {
    const Tensor x = zeros({1, channels, 4, 4});
    x.select(2, 1).select(2, 1).fill_(nan);
    for (const Tensor& t : {x, x.permute({0, 2, 3, 1}).clone(Layout::RowMajor).permute({0, 3, 1, 2})}) {
      const auto [values, indices] = max_pool2d_with_indices(t, {3}, {1});
      EXPECT_EQ(sum(isnan(values)).item().to_int(), 4 * channels);
      EXPECT_EQ(sum(eq(indices, 5)).item().to_int(), 4 * channels);
    }
  }
}

TEST(Pooling, GradientsGoToTheSourceElements) {
  const Tensor x = image({2, 3, 6, 7}, kF64, 0, 3);
  const auto [values, indices] = max_pool2d_with_indices(x, {2}, {2});
  const Tensor of_max = internal::max_pool2d_with_indices_backward(ones(values.sizes(), kF64), x, {2}, {2},
                                                                   {0}, {1}, CeilMode::No, indices);
  EXPECT_EQ(sum(of_max).item().to_double(), static_cast<double>(values.numel().value()));
  EXPECT_EQ(sum(of_max * x).item().to_double(), sum(values).item().to_double());
  // A mean is linear: its directional derivative is its value for the direction.
  const Tensor direction = image({2, 3, 6, 7}, kF64, 0, 4);
  const Tensor grad = image({2, 3, 3, 4}, kF64, 1, 5);
  EXPECT_NEAR(
      sum(internal::avg_pool2d_backward(grad, x, {3}, {2}, {1}, CeilMode::No, CountIncludePad::No) *
          direction)
          .item()
          .to_double(),
      sum(avg_pool2d(direction, {3}, {2}, {1}, CeilMode::No, CountIncludePad::No) * grad).item().to_double(),
      1e-9);
  const Tensor small = image({2, 3, 4, 5}, kF64, 0, 6);
  EXPECT_NEAR(sum(internal::adaptive_avg_pool2d_backward(small, x) * direction).item().to_double(),
              sum(adaptive_avg_pool2d(direction, {4, 5}) * small).item().to_double(), 1e-9);
}

TEST(Upsample, AConstantImageStaysConstant) {
  for (const int layout : {0, 1, 2}) {
    for (const DType dtype : {kF32, kF64, kBF16, kF16}) {
      const Tensor x = image({2, 9, 5, 4}, dtype, layout, 1).fill_(3);
      for (const Tensor& y :
           {upsample_nearest2d(x, {7, 9}), upsample_bilinear2d(x, {7, 9}, AlignCorners::Yes),
            upsample_bilinear2d(x, {3, 2}, AlignCorners::No),
            upsample_bicubic2d(x, {8, 11}, AlignCorners::No)}) {
        for (const double value : doubles_of(y)) ASSERT_NEAR(value, 3, 1e-5);
      }
    }
  }
}

TEST(Upsample, LinearRampsStayLinear) {
  const Tensor x = arange(20, kF64).view({1, 1, 4, 5});
  const Tensor y = upsample_bilinear2d(x, {7, 9}, AlignCorners::Yes);
  for (std::int64_t h = 0; h < 7; ++h) {
    for (std::int64_t w = 0; w < 9; ++w)
      EXPECT_NEAR((y[{0, 0, h, w}]).item().to_double(),
                  static_cast<double>(h) * 2.5 + static_cast<double>(w) * 0.5, 1e-12);
  }
}

TEST(Pooling, ErrorsSayWhatToDo) {
  using test::thrown_by;
  const Tensor x = ones({1, 2, 4, 4});
  EXPECT_EQ(thrown_by<ShapeError>([&] { max_pool2d(x, {5}); }).message(),
            "the window reaches over 5 elements of spatial axis 0, the padded input has 4");
  EXPECT_EQ(thrown_by<ValueError>([&] { max_pool2d(x, {2}, {}, {2}); }).message(),
            "padding is at most half of what the window reaches over; 2 is more than half of 2");
  EXPECT_EQ(thrown_by<ShapeError>([&] { avg_pool2d(ones({4}), {2}); }).message(),
            "the input has an axis of channels, 2 spatial ones and perhaps a batch; f32[4] has 1 axes");
  EXPECT_EQ(thrown_by<ValueError>([&] {
              avg_pool2d(x, {2}, {}, {0}, CeilMode::No, CountIncludePad::Yes, 0);
            }).message(),
            "divisor_override is not 0");
  EXPECT_EQ(thrown_by<ValueError>([&] { adaptive_avg_pool2d(x, {1}); }).message(),
            "output_size has 2 numbers, not 1");
  EXPECT_EQ(thrown_by<ShapeError>([&] { upsample_nearest2d(ones({2, 4, 4}), {8, 8}); }).message(),
            "the input is [batch, channels, height, width]; f32[2, 4, 4] has 3 axes");
  const Tensor far = full({1, 2, 2, 2}, 99, kI64);
  EXPECT_EQ(thrown_by<IndexError>([&] {
              internal::max_pool2d_with_indices_backward(ones({1, 2, 2, 2}), x, {2}, {2}, {0}, {1},
                                                         CeilMode::No, far);
            }).message(),
            "index 99 is out of range for an image of 16 elements");
}

}  // namespace
}  // namespace pel

// Pooling: the description of a call and of its windows.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "pellucid/extend/kernel_args.h"

#include "backends/cpu/convolution/convolution.h"
#include "tensor/convert.h"

namespace pel::cpu {

// The windows along one axis: window o has `count(o)` elements inside the input, `dilation` apart, from
// `first(o)` on.
struct PoolAxis {
  std::int64_t in = 1, out = 1;
  std::int64_t kernel = 1, stride = 1, before = 0, dilation = 1;
  std::vector<std::int64_t> first, count;
  std::vector<std::int64_t> with_padding;  // elements of input and padding

  std::int64_t extent() const { return (out - 1) * stride + (kernel - 1) * dilation + 1; }
};

struct PoolCall {
  // `image` has the sizes of the input, `pooled` those of the result; either may be written. There are four
  // scalars per axis; without any, the windows are those of adaptive pooling.
  PoolCall(const Operand& image, const Operand& pooled, const PelScalar* scalars);

  std::int64_t batch, channels;
  PoolAxis axes[kSpatialAxes];
  Image image, pooled;
  bool is_adaptive;

  std::int64_t image_positions() const { return axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
};

template <class T>
using PoolValue = std::conditional_t<std::is_integral_v<T>, std::int64_t,
                                     std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
PoolValue<T> load_value(const char* at) {
  return static_cast<PoolValue<T>>(load_as<T>(at));
}
template <class T>
void store_value(char* at, PoolValue<T> value) {
  store_as(at, convert<T>(value));
}

template <class V>
constexpr V lowest() {
  if constexpr (std::is_integral_v<V>) {
    return std::numeric_limits<V>::lowest();
  } else {
    return -std::numeric_limits<V>::infinity();
  }
}

// The element positions of one window.
struct Window {
  const PoolAxis &d, &h, &w;
  std::int64_t od, oh, ow;
  template <class F>
  void for_each(F&& f) const {
    const auto at = [](const std::vector<std::int64_t>& v, std::int64_t i) {
      return v[static_cast<std::size_t>(i)];
    };
    for (std::int64_t i = 0; i < at(d.count, od); ++i) {
      const std::int64_t z = at(d.first, od) + i * d.dilation;
      for (std::int64_t j = 0; j < at(h.count, oh); ++j) {
        const std::int64_t y = at(h.first, oh) + j * h.dilation;
        for (std::int64_t k = 0; k < at(w.count, ow); ++k) f(z, y, at(w.first, ow) + k * w.dilation);
      }
    }
  }
};

struct Averaging {
  bool counts_padding = true;
  std::int64_t divisor = 0;  // 0: the size of the window
  std::int64_t of(const Window& w) const {
    return divisor != 0 ? divisor : along(w.d, w.od) * along(w.h, w.oh) * along(w.w, w.ow);
  }
  // The elements of window `o` along one axis that are counted.
  std::int64_t along(const PoolAxis& axis, std::int64_t o) const {
    return (counts_padding ? axis.with_padding : axis.count)[static_cast<std::size_t>(o)];
  }
};

Averaging averaging_of(const KernelArgs& args);

void run_max_pool_backward(Stream& stream, const KernelArgs& args);
void run_avg_pool_backward(Stream& stream, const KernelArgs& args);

}  // namespace pel::cpu

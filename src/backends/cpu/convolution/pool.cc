// Pooling: the max or the mean of each window. Elements are combined in the order of the window, whatever the
// layout. Three implementations share the class Pool:
//   run_channels  f32, channels-last: channels are lanes of a vector.
//   run_rows      f32, contiguous rows: a copy of the plane has its padding and its columns sorted by their
//                 remainder modulo the stride, so that one tap reads contiguous elements.
//   run_plane     any layout and dtype, element by element.
// A dense plane of 16-bit elements is converted to f32 first, which is what they are computed in.
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "backends/cpu/convolution/pool_lanes.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "base/thread_object.h"

namespace pel::cpu {
namespace {

// How run_rows reads its copy of a plane, `row` elements for each row of which `part` have one remainder.
struct RowLayout {
  std::int64_t part, row;
  std::vector<std::int64_t> offsets;  // of the taps of a row of a window
  std::vector<std::int32_t> starts;   // the first element of each window of a row
  std::vector<float> widths;          // the elements of a row of each window that a mean counts
  std::vector<float> plane;           // the copy
};

// Runs a pooling call; T is the element type.
template <class T>
class Pool {
 public:
  using V = PoolValue<T>;
  static constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));

  Pool(const PoolCall& c, bool is_max, Averaging average, const Operand* indices)
      : c_(c), is_max_(is_max), average_(average) {
    if (indices == nullptr) return;
    const int missing = kSpatialAxes - (indices->rank - 2);
    indices_ = {static_cast<char*>(indices->data), indices->strides[0], indices->strides[1], {}};
    for (int i = missing; i < kSpatialAxes; ++i) indices_.axis[i] = indices->strides[2 + i - missing];
  }

  void run() const {
    // Lanes hold positions in 32 bits.
    const bool vectors = std::is_same_v<T, float> && active_isa().has_value() &&
                         c_.image_positions() < std::numeric_limits<std::int32_t>::max();
    if (vectors && c_.image.channel == 1 && c_.pooled.channel == 1 && c_.channels >= kPoolLanes &&
        (indices_.data == nullptr || indices_.channel == 1))
      return run_channels();
    parallel_for(c_.batch * c_.channels, Grain::of(kGrainElements, c_.image_positions()),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   run_planes(begin, end, vectors);
                 });
  }
  // Planes are numbered over the batch and the channels.
  void run_planes(std::int64_t begin, std::int64_t end, bool vectors) const {
    const bool takes_whole_planes = !is_max_ && c_.positions() == 1 && contiguous_run(window(0, 0, 0)) > 0;
    RowLayout rows;
    if (vectors && !takes_whole_planes && !c_.is_adaptive) rows = row_layout();
    for (std::int64_t i = begin; i < end; ++i) {
      if (vectors && takes_whole_planes) {
        mean_of_plane(i / c_.channels, i % c_.channels);
      } else if (vectors && !c_.is_adaptive) {
        run_rows(i / c_.channels, i % c_.channels, rows);
      } else {
        run_plane(i / c_.channels, i % c_.channels);
      }
    }
  }

 private:
  Window window(std::int64_t od, std::int64_t oh, std::int64_t ow) const {
    return {c_.axes[0], c_.axes[1], c_.axes[2], od, oh, ow};
  }
  const char* image(std::int64_t n, std::int64_t c) const {
    return c_.image.data + (n * c_.image.batch + c * c_.image.channel) * kSize;
  }
  static std::int64_t offset(const Image& i, std::int64_t d, std::int64_t h, std::int64_t w) {
    return d * i.axis[0] + h * i.axis[1] + w * i.axis[2];
  }
  std::int64_t flat(std::int64_t d, std::int64_t h, std::int64_t w) const {
    return (d * c_.axes[1].in + h) * c_.axes[2].in + w;
  }
  // Also valid for a window entirely in the padding.
  std::int64_t first_position(const Window& w) const {
    return flat(w.d.first[static_cast<std::size_t>(w.od)], w.h.first[static_cast<std::size_t>(w.oh)],
                w.w.first[static_cast<std::size_t>(w.ow)]);
  }
  char* result(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const {
    return c_.pooled.data +
           (n * c_.pooled.batch + c * c_.pooled.channel + offset(c_.pooled, d, h, w)) * kSize;
  }
  char* index(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const {
    return indices_.data +
           (n * indices_.batch + c * indices_.channel + offset(indices_, d, h, w)) * std::int64_t{8};
  }

  template <class F>
  void for_positions(F&& f) const {
    for (std::int64_t d = 0; d < c_.axes[0].out; ++d) {
      for (std::int64_t h = 0; h < c_.axes[1].out; ++h) {
        for (std::int64_t w = 0; w < c_.axes[2].out; ++w) f(d, h, w);
      }
    }
  }

  // Returns the number of elements of an adaptive window if they are contiguous; else 0.
  std::int64_t contiguous_run(const Window& w) const {
    if (!c_.is_adaptive || w.w.out != 1) return 0;
    const std::int64_t rows = w.h.count[static_cast<std::size_t>(w.oh)],
                       planes = w.d.count[static_cast<std::size_t>(w.od)];
    const bool in_row = c_.image.axis[2] == 1 || w.w.in == 1,
               in_plane = rows == 1 || c_.image.axis[1] == w.w.in,
               in_all = planes == 1 || (rows == w.h.in && c_.image.axis[0] == w.h.in * w.w.in);
    return in_row && in_plane && in_all ? planes * rows * w.w.in : 0;
  }
  // Eight sums in the lanes, element i in sum i % 8; lanes past the end add zero.
  PEL_LANES static float sum_run(const float* x, std::int64_t count) {
    F32x8 sum{};
    std::int64_t i = 0;
    for (; i + kSums <= count; i += kSums) sum = sum + load<F32x8>(x + i);
    float sums[kSums];
    store(sums, sum);
    for (int lane = 0; i < count; ++i, ++lane) sums[lane] += x[i];
    return folded(sums);
  }

  void mean_of_plane(std::int64_t n, std::int64_t c) const {
    const std::int64_t count = c_.image_positions();
    const float sum = sum_run(reinterpret_cast<const float*>(image(n, c)), count);
    store_as(result(n, c, 0, 0, 0), sum / static_cast<float>(count));
  }

  // Handles any layout and dtype, element by element.
  void run_plane(std::int64_t n, std::int64_t c) const {
    const char* const plane = image(n, c);
    const auto element = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
      return load_value<T>(plane + offset(c_.image, z, y, x) * kSize);
    };
    for_positions([&](std::int64_t od, std::int64_t oh, std::int64_t ow) {
      const Window w = window(od, oh, ow);
      if (is_max_) {
        V best = lowest<V>();
        std::int64_t at = first_position(w);
        w.for_each([&](std::int64_t z, std::int64_t y, std::int64_t x) {
          const V value = element(z, y, x);
          if (value > best || value != value) {
            best = value;
            at = flat(z, y, x);
          }
        });
        store_value<T>(result(n, c, od, oh, ow), best);
        store_as(index(n, c, od, oh, ow), at);
      } else {
        V sums[kSums] = {};
        std::int64_t i = 0;
        w.for_each([&](std::int64_t z, std::int64_t y, std::int64_t x) {
          sums[c_.is_adaptive ? i++ % kSums : 0] += element(z, y, x);
        });
        const V sum = c_.is_adaptive ? folded(sums) : sums[0];
        store_value<T>(result(n, c, od, oh, ow), sum / static_cast<V>(average_.of(w)));
      }
    });
  }

  // f32, channels-last: eight channels at a time; the last group overlaps the previous one if it is shorter.
  void run_channels() const {
    const std::int64_t rows = c_.axes[0].out * c_.axes[1].out;
    const std::int64_t task_elements =
        std::max<std::int64_t>(1, c_.channels * c_.image_positions() / std::max<std::int64_t>(rows, 1));
    parallel_for(c_.batch * rows, Grain::of(kGrainElements, task_elements),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t n = i / rows, d = i % rows / c_.axes[1].out, h = i % c_.axes[1].out;
                     for (std::int64_t w = 0; w < c_.axes[2].out; ++w) pool_channels(n, d, h, w);
                   }
                 });
  }
  void pool_channels(std::int64_t n, std::int64_t od, std::int64_t oh, std::int64_t ow) const {
    const Window w = window(od, oh, ow);
    Taps& taps = thread_object<Taps>();
    taps.clear();
    w.for_each([&](std::int64_t z, std::int64_t y, std::int64_t x) {
      taps.push_back({offset(c_.image, z, y, x), flat(z, y, x)});
    });
    const auto* const pixels = reinterpret_cast<const float*>(image(n, 0));
    auto* const to = reinterpret_cast<float*>(result(n, 0, od, oh, ow));
    auto* const positions = reinterpret_cast<long long*>(is_max_ ? index(n, 0, od, oh, ow) : nullptr);
    const float divisor = is_max_ ? 1 : static_cast<float>(average_.of(w));
    const auto pool_lanes = [&](std::int64_t c, bool four) {
      if (is_max_) {
        (four ? max_of_four : max_of_one)(pixels + c, taps, first_position(w), to + c, positions + c);
      } else if (c_.is_adaptive) {
        for (std::int64_t l = 0; l < (four ? 4 * kPoolLanes : kPoolLanes); l += kPoolLanes)
          mean_of_many(pixels + c + l, taps, divisor, to + c + l);
      } else {
        (four ? mean_of_four : mean_of_one)(pixels + c, taps, divisor, to + c);
      }
    };
    std::int64_t c = 0;
    for (; c + 4 * kPoolLanes <= c_.channels; c += 4 * kPoolLanes) pool_lanes(c, true);
    for (; c + kPoolLanes <= c_.channels; c += kPoolLanes) pool_lanes(c, false);
    if (c < c_.channels) pool_lanes(c_.channels - kPoolLanes, false);  // overlaps the previous group
  }

  RowLayout row_layout() const {
    const PoolAxis& aw = c_.axes[2];
    const std::int64_t positions = (aw.out + kPoolLanes - 1) / kPoolLanes * kPoolLanes;
    RowLayout rows{positions + (aw.kernel - 1) * aw.dilation / aw.stride, 0, {}, {}, {}, {}};
    rows.row = rows.part * aw.stride;
    rows.plane.resize(static_cast<std::size_t>(c_.axes[0].in * c_.axes[1].in * rows.row + positions));
    for (std::int64_t at = 0; at < aw.kernel * aw.dilation; at += aw.dilation)
      rows.offsets.push_back(at % aw.stride * rows.part + at / aw.stride);
    for (std::int64_t w = 0; w < aw.out; ++w) {
      rows.starts.push_back(static_cast<std::int32_t>(aw.first[static_cast<std::size_t>(w)]));
      rows.widths.push_back(average_.divisor != 0 ? 1 : static_cast<float>(average_.along(aw, w)));
    }
    rows.starts.resize(static_cast<std::size_t>(positions), 0);
    rows.widths.resize(static_cast<std::size_t>(positions), 1);
    return rows;
  }

  PEL_LANES static void copy_every_second(float* to, const float* from, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kPoolLanes < count; i += kPoolLanes)  // the element after the last one is not read
      store(to + i, even_lanes(load<F32x8>(from + 2 * i), load<F32x8>(from + 2 * i + kPoolLanes)));
    for (; i < count; ++i) to[i] = from[2 * i];
  }

  // f32: handles eight positions of a row at a time, over a padded copy of the plane.
  PEL_LANES void run_rows(std::int64_t n, std::int64_t c, RowLayout& rows) const {
    const PoolAxis &ad = c_.axes[0], &ah = c_.axes[1], &aw = c_.axes[2];
    const std::int64_t part = rows.part, row = rows.row;
    const float outside = is_max_ ? lowest<float>() : 0;
    // Element x of the input is at position x + before, whose remainder selects the part.
    const char* const plane = image(n, c);
    for (std::int64_t z = 0; z < ad.in; ++z) {
      for (std::int64_t y = 0; y < ah.in; ++y) {
        float* to = rows.plane.data() + (z * ah.in + y) * row;
        const char* from = plane + offset(c_.image, z, y, 0) * kSize;
        for (std::int64_t p = 0; p < aw.stride; ++p, to += part) {
          const auto lower_bound_of = [&](std::int64_t x) {
            return std::min(part, std::max<std::int64_t>(0, x + aw.before - p + aw.stride - 1) / aw.stride);
          };
          const std::int64_t first = lower_bound_of(0), end = std::max(first, lower_bound_of(aw.in));
          std::fill_n(to, first, outside);
          if (end > first && aw.stride == 2 && c_.image.axis[2] == 1)
            copy_every_second(to + first, reinterpret_cast<const float*>(from) + 2 * first + p - aw.before,
                              end - first);
          else if (end > first)
            copy_tile(
                {reinterpret_cast<char*>(to + first), 0, kSize},
                {const_cast<char*>(from) + (first * aw.stride + p - aw.before) * c_.image.axis[2] * kSize, 0,
                 aw.stride * c_.image.axis[2] * kSize},
                1, end - first, kSize);
          std::fill_n(to + end, part - end, outside);
        }
      }
    }
    alignas(32) float values[kPoolLanes];
    long long wide[kPoolLanes];
    const bool dense = c_.pooled.axis[2] == 1, dense_index = indices_.axis[2] == 1;
    const I32x8 steps = I32x8{0, 1, 2, 3, 4, 5, 6, 7} * static_cast<int>(aw.stride);
    for (std::int64_t od = 0; od < ad.out; ++od) {
      for (std::int64_t oh = 0; oh < ah.out; ++oh) {
        const auto d = static_cast<std::size_t>(od), h = static_cast<std::size_t>(oh);
        for (std::int64_t w = 0; w < aw.out; w += kPoolLanes) {
          const std::int64_t lanes = std::min(kPoolLanes, aw.out - w);
          auto best = all_lanes<F32x8>(is_max_ ? outside : 0);
          I32x8 at{};
          if (is_max_) {
            const auto row_start = static_cast<int>(flat(ad.first[d], ah.first[h], 0));
            at = row_start + load<I32x8>(rows.starts.data() + w);
          }
          for (std::int64_t i = 0; i < ad.count[d]; ++i) {
            const std::int64_t z = ad.first[d] + i * ad.dilation;
            for (std::int64_t j = 0; j < ah.count[h]; ++j) {
              const std::int64_t y = ah.first[h] + j * ah.dilation;
              const float* const line = rows.plane.data() + (z * ah.in + y) * row + w;
              const std::int64_t here = flat(z, y, w * aw.stride - aw.before);
              for (std::int64_t k = 0; k < aw.kernel; ++k) {
                const auto x = load<F32x8>(line + rows.offsets[static_cast<std::size_t>(k)]);
                if (is_max_) {
                  const I32x8 takes = greater_or_nan(x, best);
                  best = takes ? x : best;
                  const I32x8 position = static_cast<int>(here + k * aw.dilation) + steps;
                  at = takes ? position : at;
                } else {
                  best = best + x;
                }
              }
            }
          }
          if (!is_max_) {
            const std::int64_t height =
                average_.divisor != 0 ? average_.divisor : average_.along(ad, od) * average_.along(ah, oh);
            best = best / (static_cast<float>(height) * load<F32x8>(rows.widths.data() + w));
          }
          if (lanes == kPoolLanes && dense) {
            store(result(n, c, od, oh, w), best);
          } else {
            store(values, best);
            for (std::int64_t l = 0; l < lanes; ++l) store_as(result(n, c, od, oh, w + l), values[l]);
          }
          if (!is_max_) continue;
          if (lanes == kPoolLanes && dense_index) {
            store_positions(reinterpret_cast<long long*>(index(n, c, od, oh, w)), at);
          } else {
            store_positions(wide, at);
            for (std::int64_t l = 0; l < lanes; ++l) store_as(index(n, c, od, oh, w + l), wide[l]);
          }
        }
      }
    }
  }

  const PoolCall& c_;
  bool is_max_;
  Averaging average_;
  Image indices_;
};

// Strides of a plane that is dense.
void set_dense(Image& image, const PoolAxis (&axes)[kSpatialAxes], std::int64_t PoolAxis::* size) {
  std::int64_t stride = 1;
  for (int i = kSpatialAxes - 1; i >= 0; --i) {
    image.axis[i] = stride;
    stride *= axes[i].*size;
  }
}
bool is_dense(const Image& image, const PoolAxis (&axes)[kSpatialAxes], std::int64_t PoolAxis::* size) {
  Image dense;
  set_dense(dense, axes, size);
  for (int i = 0; i < kSpatialAxes; ++i)
    if (axes[i].*size > 1 && image.axis[i] != dense.axis[i]) return false;
  return true;
}

// Dense planes of a 16-bit type, by way of f32.
class WidenedPool {
 public:
  WidenedPool(const PoolCall& c, DType dtype, bool is_max, Averaging average, const Operand* indices)
      : c_(c), dtype_(dtype), is_max_(is_max), average_(average), indices_(indices) {}

  static bool supports(const PoolCall& c, DType dtype) {
    return (dtype == kBF16 || dtype == kF16) && active_isa().has_value() &&
           c.image_positions() < std::numeric_limits<std::int32_t>::max() &&
           is_dense(c.image, c.axes, &PoolAxis::in) && is_dense(c.pooled, c.axes, &PoolAxis::out);
  }

  void run() const {
    parallel_for(c_.batch * c_.channels, Grain::of(kGrainElements, c_.image_positions()),
                 [&](std::int64_t begin, std::int64_t end) { run_planes(begin, end); });
  }

 private:
  void run_planes(std::int64_t begin, std::int64_t end) const {
    const DefaultFloatMode mode;
    std::vector<float> image(static_cast<std::size_t>(c_.image_positions())),
        pooled(static_cast<std::size_t>(c_.positions()));
    PoolCall one = c_;  // each plane is widened into the same memory
    one.image = {reinterpret_cast<char*>(image.data()), 0, 0, {}};
    one.pooled = {reinterpret_cast<char*>(pooled.data()), 0, 0, {}};
    set_dense(one.image, one.axes, &PoolAxis::in);
    set_dense(one.pooled, one.axes, &PoolAxis::out);
    const Pool<float> pool(one, is_max_, average_, indices_);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / c_.channels, c = i % c_.channels;
      const auto plane = [&](const Image& of) {
        return of.data + (n * of.batch + c * of.channel) * kHalfSize;
      };
      cast_elements(one.image.data, kF32, plane(c_.image), dtype_, c_.image_positions());
      pool.run_planes(i, i + 1, true);
      cast_elements(plane(c_.pooled), dtype_, one.pooled.data, kF32, c_.positions());
    }
  }
  static constexpr std::int64_t kHalfSize = 2;
  const PoolCall& c_;
  DType dtype_;
  bool is_max_;
  Averaging average_;
  const Operand* indices_;
};

void run_pool(const KernelArgs& args, bool is_max, Averaging average, const Operand* indices) {
  const PoolCall c(input(args, 0), output(args, 0), args.scalar_count == 0 ? nullptr : args.scalars);
  const auto dtype = static_cast<DType>(output(args, 0).dtype);
  if (WidenedPool::supports(c, dtype)) return WidenedPool(c, dtype, is_max, average, indices).run();
  with_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) Pool<T>(c, is_max, average, indices).run();
  });
}

void run_max(Stream&, const KernelArgs& args) { run_pool(args, true, {}, &output(args, 1)); }
void run_average(Stream&, const KernelArgs& args) { run_pool(args, false, averaging_of(args), nullptr); }

}  // namespace

KernelLists pool_kernels() {
  static const auto kMax = std::to_array<Kernel>({{"cpu_max_pool", supports_any, run_max}});
  static const auto kAverage = std::to_array<Kernel>({{"cpu_avg_pool", supports_any, run_average}});
  static const auto kMaxBackward =
      std::to_array<Kernel>({{"cpu_max_pool_backward", supports_any, run_max_pool_backward}});
  static const auto kAverageBackward =
      std::to_array<Kernel>({{"cpu_avg_pool_backward", supports_any, run_avg_pool_backward}});
  static const auto kLists =
      std::to_array<BackendKernels>({{"max_pool2d_with_indices", kMax},
                                     {"max_pool3d_with_indices", kMax},
                                     {"adaptive_max_pool2d", kMax},
                                     {"avg_pool2d", kAverage},
                                     {"avg_pool3d", kAverage},
                                     {"adaptive_avg_pool2d", kAverage},
                                     {"adaptive_avg_pool3d", kAverage},
                                     {"max_pool2d_with_indices_backward", kMaxBackward},
                                     {"avg_pool2d_backward", kAverageBackward},
                                     {"adaptive_avg_pool2d_backward", kAverageBackward}});
  return kLists;
}

}  // namespace pel::cpu

// Resampling of images. Along each axis an element of the result is a weighted sum of one, two or four
// neighbours; rows are resampled along the last axis first, then summed along the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/lanes.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

constexpr int kMaxTaps = 4;

template <class T>
using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The source positions and weights of the elements along an axis.
template <class V>
struct AxisTable {
  int taps = 1;
  std::vector<std::int64_t> positions;  // `taps` for each element
  std::vector<V> weights;
};

// The cubic convolution kernel for distances below 1, and above.
template <class V>
V cubic_near(V x) {
  constexpr V a = V(-0.75);
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class V>
V cubic_far(V x) {
  constexpr V a = V(-0.75);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

struct AxisCall {
  std::int64_t in, out;
  double scale;  // 0: derived from the sizes
};

// Follows PyTorch's formulas. Mode 0 is nearest, 1 linear, 2 cubic.
template <class V>
AxisTable<V> make_table(const AxisCall& axis, std::int64_t mode, bool align_corners) {
  const auto [in, out, scale_factor] = axis;
  AxisTable<V> table;
  table.taps = mode == 0 ? 1 : mode == 1 ? 2 : 4;
  using S = std::conditional_t<std::is_same_v<V, double>, double, float>;
  S scale = scale_factor > 0 ? static_cast<S>(1.0 / scale_factor) : static_cast<S>(in) / static_cast<S>(out);
  if (align_corners) scale = out > 1 ? static_cast<S>(in - 1) / static_cast<S>(out - 1) : S(0);
  const float nearest = scale_factor > 0 ? static_cast<float>(1.0 / scale_factor)
                                         : static_cast<float>(in) / static_cast<float>(out);
  for (std::int64_t o = 0; o < out; ++o) {
    if (mode == 0) {
      std::int64_t at = static_cast<std::int64_t>(std::floor(static_cast<float>(o) * nearest));
      if (out == in) at = o;
      if (out == 2 * in) at = o / 2;
      table.positions.push_back(std::min(at, in - 1));
      table.weights.push_back(V(1));
      continue;
    }
    S at = align_corners ? scale * static_cast<S>(o) : scale * (static_cast<S>(o) + S(0.5)) - S(0.5);
    if (mode == 1 && at < 0) at = 0;
    if (mode == 1 && in == out) at = static_cast<S>(o);  // whatever the scale
    const std::int64_t first = std::min(static_cast<std::int64_t>(std::floor(at)), in - 1);
    const S rest = std::clamp<S>(at - static_cast<S>(first), 0, 1);
    if (mode == 1) {
      table.positions.push_back(first);
      table.positions.push_back(first + (first < in - 1 ? 1 : 0));
      table.weights.push_back(1 - rest);
      table.weights.push_back(rest);
      continue;
    }
    for (std::int64_t k = -1; k <= 2; ++k)
      table.positions.push_back(std::clamp<std::int64_t>(first + k, 0, in - 1));
    for (const V weight :
         {cubic_far<V>(rest + 1), cubic_near<V>(rest), cubic_near<V>(1 - rest), cubic_far<V>(2 - rest)})
      table.weights.push_back(weight);
  }
  return table;
}

// Computes sum = weight x for the first row, sum += weight x for others.
PEL_LANES std::int64_t add_row_vectors(float* sum, const float* x, float weight, bool is_first,
                                       std::int64_t count) {
  const auto w = all_lanes<F32x8>(weight);
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    F32x8 v = w * load<F32x8>(x + i);
    if (!is_first) v = load<F32x8>(sum + i) + v;
    store(sum + i, v);
  }
  return i;
}
template <class V>
void add_row(V* sum, const V* x, V weight, bool is_first, std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<V, float>) {
    if (active_isa()) i = add_row_vectors(sum, x, weight, is_first, count);
  }
  for (; i < count; ++i) sum[i] = is_first ? weight * x[i] : sum[i] + weight * x[i];
}

constexpr std::int64_t kLanes = 8;

// Blends four pixels of at least eight channels, those of the upper row first.
PEL_LANES void blend_four(const float* const* from, const float* row_weights, const float* column_weights,
                          float* to, std::int64_t channels) {
  const auto up = all_lanes<F32x8>(row_weights[0]), down = all_lanes<F32x8>(row_weights[1]),
             left = all_lanes<F32x8>(column_weights[0]), right = all_lanes<F32x8>(column_weights[1]);
  for (std::int64_t next = 0; next < channels; next += kLanes) {
    const std::int64_t c = std::min(next, channels - kLanes);
    const F32x8 upper = left * load<F32x8>(from[0] + c) + right * load<F32x8>(from[1] + c),
                lower = left * load<F32x8>(from[2] + c) + right * load<F32x8>(from[3] + c);
    store(to + c, up * upper + down * lower);
  }
}

template <class T>
class Resampler {
 public:
  using V = Value<T>;
  static constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));

  explicit Resampler(const KernelArgs& args) : dst_(output(args, 0)), src_(input(args, 0)) {
    const std::int64_t mode = args.scalars[0].as_int;
    const bool align = args.scalars[1].as_int != 0;
    rows_ = make_table<V>({src_.sizes[2], dst_.sizes[2], args.scalars[2].as_float}, mode, align);
    columns_ = make_table<V>({src_.sizes[3], dst_.sizes[3], args.scalars[3].as_float}, mode, align);
  }

  void run() const {
    const std::int64_t channels = dst_.sizes[1], height = dst_.sizes[2], width = dst_.sizes[3];
    if (src_.strides[1] == 1 && dst_.strides[1] == 1 && channels > 1) {
      parallel_for(dst_.sizes[0] * height, Grain::of(kGrainElements, width * channels),
                   [&](std::int64_t begin, std::int64_t end) {
                     const DefaultFloatMode mode;
                     std::vector<V> scratch(static_cast<std::size_t>(3 * channels));
                     for (std::int64_t i = begin; i < end; ++i) run_pixels(i / height, i % height, scratch);
                   });
      return;
    }
    parallel_for(dst_.sizes[0] * channels, Grain::of(kGrainElements, height * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   for (std::int64_t i = begin; i < end; ++i) run_plane(i / channels, i % channels);
                 });
  }

 private:
  const char* source(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return static_cast<const char*>(src_.data) +
           (n * src_.strides[0] + c * src_.strides[1] + h * src_.strides[2] + w * src_.strides[3]) * kSize;
  }
  char* result(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return static_cast<char*>(dst_.data) +
           (n * dst_.strides[0] + c * dst_.strides[1] + h * dst_.strides[2] + w * dst_.strides[3]) * kSize;
  }
  static V load(const char* at) { return static_cast<V>(load_as<T>(at)); }

  // Resamples row `h` of the input to the width of the result.
  void resample_row(std::int64_t n, std::int64_t c, std::int64_t h, V* to) const {
    const char* const row = source(n, c, h, 0);
    const std::int64_t step = src_.strides[3] * kSize;
    const std::int64_t* at = columns_.positions.data();
    const V* weight = columns_.weights.data();
    for (std::int64_t w = 0; w < dst_.sizes[3]; ++w, at += columns_.taps, weight += columns_.taps) {
      V sum = weight[0] * load(row + at[0] * step);
      for (int t = 1; t < columns_.taps; ++t) sum += weight[t] * load(row + at[t] * step);
      to[w] = sum;
    }
  }

  // Resampled input rows are reused for the next rows of the result.
  void run_plane(std::int64_t n, std::int64_t c) const {
    const std::int64_t width = dst_.sizes[3];
    std::vector<V> scratch(static_cast<std::size_t>((kMaxTaps + 1) * width));
    std::int64_t cached[kMaxTaps] = {-1, -1, -1, -1};
    V* const sum = scratch.data() + kMaxTaps * width;
    const bool stores_sums = std::is_same_v<T, V> && dst_.strides[3] == 1;
    for (std::int64_t h = 0; h < dst_.sizes[2]; ++h) {
      V* const to = stores_sums ? reinterpret_cast<V*>(result(n, c, h, 0)) : sum;
      for (int t = 0; t < rows_.taps; ++t) {
        const auto i = static_cast<std::size_t>(h * rows_.taps + t);
        // Adjacent rows have different slots, so no row is overwritten before its last use.
        const std::int64_t position = rows_.positions[i], slot = position % kMaxTaps;
        V* const row = scratch.data() + slot * width;
        if (cached[slot] != position) {
          resample_row(n, c, position, row);
          cached[slot] = position;
        }
        add_row(to, row, rows_.weights[i], t == 0, width);
      }
      if (stores_sums) continue;
      for (std::int64_t w = 0; w < width; ++w) store_as(result(n, c, h, w), convert<T>(sum[w]));
    }
  }

  // Channels-last: all channels of a pixel at once.
  void run_pixels(std::int64_t n, std::int64_t h, std::vector<V>& scratch) const {
    const std::int64_t channels = dst_.sizes[1];
    V *const sum = scratch.data(), *const line = sum + channels, *const pixel = line + channels;
    for (std::int64_t w = 0; w < dst_.sizes[3]; ++w) {
      if constexpr (std::is_same_v<T, float>) {
        if (channels >= kLanes && active_isa()) {
          blend_pixel(n, h, w);
          continue;
        }
      }
      V* const to = std::is_same_v<T, V> ? reinterpret_cast<V*>(result(n, 0, h, w)) : sum;
      for (int t = 0; t < rows_.taps; ++t) {
        const auto i = static_cast<std::size_t>(h * rows_.taps + t);
        for (int u = 0; u < columns_.taps; ++u) {
          const auto j = static_cast<std::size_t>(w * columns_.taps + u);
          const char* const from = source(n, 0, rows_.positions[i], columns_.positions[j]);
          const V* x = reinterpret_cast<const V*>(from);
          if constexpr (!std::is_same_v<T, V>) {
            for (std::int64_t c = 0; c < channels; ++c) pixel[c] = load(from + c * kSize);
            x = pixel;
          }
          add_row(line, x, columns_.weights[j], u == 0, channels);
        }
        add_row(to, line, rows_.weights[i], t == 0, channels);
      }
      if constexpr (!std::is_same_v<T, V>) {
        for (std::int64_t c = 0; c < channels; ++c) store_as(result(n, c, h, w), convert<T>(sum[c]));
      }
    }
  }

  // f32: eight channels at a time; the last group overlaps the previous one if it is shorter.
  PEL_LANES void blend_pixel(std::int64_t n, std::int64_t h, std::int64_t w) const {
    const float* from[kMaxTaps * kMaxTaps];
    const V* const row_weights = rows_.weights.data() + h * rows_.taps;
    const V* const column_weights = columns_.weights.data() + w * columns_.taps;
    for (int t = 0; t < rows_.taps; ++t) {
      for (int u = 0; u < columns_.taps; ++u)
        from[t * columns_.taps + u] = reinterpret_cast<const float*>(
            source(n, 0, rows_.positions[static_cast<std::size_t>(h * rows_.taps + t)],
                   columns_.positions[static_cast<std::size_t>(w * columns_.taps + u)]));
    }
    auto* const to = reinterpret_cast<float*>(result(n, 0, h, w));
    if constexpr (std::is_same_v<V, float>) {
      if (rows_.taps == 2 && columns_.taps == 2)
        return blend_four(from, row_weights, column_weights, to, dst_.sizes[1]);
    }
    for (std::int64_t next = 0; next < dst_.sizes[1]; next += kLanes) {
      const std::int64_t c = std::min(next, dst_.sizes[1] - kLanes);
      const float* const* pixel = from;
      F32x8 sum{};
      for (int t = 0; t < rows_.taps; ++t, pixel += columns_.taps) {
        const auto term = [&](int u) PEL_LANES_LAMBDA {
          return all_lanes<F32x8>(static_cast<float>(column_weights[u])) * cpu::load<F32x8>(pixel[u] + c);
        };
        F32x8 line{};
        for (int u = 0; u < columns_.taps; ++u) line = u == 0 ? term(u) : line + term(u);
        line = all_lanes<F32x8>(static_cast<float>(row_weights[t])) * line;
        sum = t == 0 ? line : sum + line;
      }
      store(to + c, sum);
    }
  }

  const Operand &dst_, &src_;
  AxisTable<V> rows_, columns_;
};

void run_upsample(Stream&, const KernelArgs& args) {
  with_type(static_cast<DType>(output(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, std::uint8_t>) Resampler<T>(args).run();
  });
}

}  // namespace

KernelLists upsample_kernels() {
  static const auto kUpsample = std::to_array<Kernel>({{"cpu_upsample", supports_any, run_upsample}});
  static const auto kLists = std::to_array<BackendKernels>({{"upsample_nearest2d", kUpsample},
                                                            {"upsample_bilinear2d", kUpsample},
                                                            {"upsample_bicubic2d", kUpsample}});
  return kLists;
}

}  // namespace pel::cpu

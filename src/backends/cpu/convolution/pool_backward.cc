// Gradients of pooling.
#include <algorithm>

#include "backends/cpu/convolution/pool.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/grains.h"
#include "base/check.h"

namespace pel::cpu {
namespace {

// Accumulates gradients plane by plane, in the order of the result's positions, in the value type.
template <class T, class AddGradient>
void run_backward(const PoolCall& c, AddGradient&& add_gradient) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t positions = c.image_positions();
  parallel_for(
      c.batch * c.channels, Grain::of(kGrainElements, positions), [&](std::int64_t begin, std::int64_t end) {
        const DefaultFloatMode mode;
        std::vector<PoolValue<T>> sums(static_cast<std::size_t>(positions));
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t n = i / c.channels, channel = i % c.channels;
          std::fill(sums.begin(), sums.end(), PoolValue<T>(0));
          const char* const grad = c.pooled.data + (n * c.pooled.batch + channel * c.pooled.channel) * kSize;
          for (std::int64_t d = 0; d < c.axes[0].out; ++d) {
            for (std::int64_t h = 0; h < c.axes[1].out; ++h) {
              for (std::int64_t w = 0; w < c.axes[2].out; ++w) {
                const std::int64_t at = d * c.pooled.axis[0] + h * c.pooled.axis[1] + w * c.pooled.axis[2];
                add_gradient(sums, n, channel, Window{c.axes[0], c.axes[1], c.axes[2], d, h, w},
                             load_value<T>(grad + at * kSize));
              }
            }
          }
          char* const to = c.image.data + (n * c.image.batch + channel * c.image.channel) * kSize;
          for (std::int64_t p = 0; p < positions; ++p) {
            const std::int64_t x = p % c.axes[2].in, y = p / c.axes[2].in % c.axes[1].in,
                               z = p / c.axes[2].in / c.axes[1].in;
            store_value<T>(to + (z * c.image.axis[0] + y * c.image.axis[1] + x * c.image.axis[2]) * kSize,
                           sums[static_cast<std::size_t>(p)]);
          }
        }
      });
}

}  // namespace

void run_avg_pool_backward(Stream&, const KernelArgs& args) {
  const PoolCall c(output(args, 0), input(args, 0), args.scalar_count == 0 ? nullptr : args.scalars);
  const Averaging average = averaging_of(args);
  with_type(static_cast<DType>(output(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_integral_v<T>) {
      run_backward<T>(c, [&](auto& sums, std::int64_t, std::int64_t, const Window& w, PoolValue<T> grad) {
        const PoolValue<T> share = grad / static_cast<PoolValue<T>>(average.of(w));
        w.for_each([&](std::int64_t z, std::int64_t y, std::int64_t x) {
          sums[static_cast<std::size_t>((z * c.axes[1].in + y) * c.axes[2].in + x)] += share;
        });
      });
    }
  });
}

void run_max_pool_backward(Stream&, const KernelArgs& args) {
  const PoolCall c(output(args, 0), input(args, 0), args.scalars);
  const Operand& indices = input(args, 1);
  with_type(static_cast<DType>(output(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      run_backward<T>(
          c, [&](auto& sums, std::int64_t n, std::int64_t channel, const Window& w, PoolValue<T> grad) {
            const std::int64_t at = n * indices.strides[0] + channel * indices.strides[1] +
                                    w.oh * indices.strides[2] + w.ow * indices.strides[3];
            const auto position = static_cast<const std::int64_t*>(indices.data)[at];
            PEL_CHECK(position >= 0 && position < std::ssize(sums), IndexError,
                      "index {} is out of range for an image of {} elements", position, sums.size());
            sums[static_cast<std::size_t>(position)] += grad;
          });
    }
  });
}

}  // namespace pel::cpu

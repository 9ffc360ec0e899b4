// Depthwise convolutions of f32. Each plane of the input is padded (padded_image.h). Eight adjacent positions
// of the result are one chain of fused multiply-adds over the taps, starting from the bias.
#include <vector>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/convolution/padded_image.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/lanes.h"
#include "base/thread_pool.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kLanes = 8;

struct Tap {
  std::int64_t offset;
  float weight;
};

PEL_LANES_INLINE void convolve_lanes(const float* src, float* dst, float bias, const std::vector<Tap>& taps) {
  F32x8 sum = all_lanes<F32x8>(bias);
  for (const Tap& tap : taps) sum = fma(load<F32x8>(src + tap.offset), all_lanes<F32x8>(tap.weight), sum);
  store(dst, sum);
}
// Computes four times as many positions: a single chain would wait for each of its additions.
PEL_LANES_INLINE void convolve_four(const float* src, float* dst, float bias, const std::vector<Tap>& taps) {
  F32x8 a = all_lanes<F32x8>(bias), b = a, c = a, d = a;
  for (const Tap& tap : taps) {
    const auto weight = all_lanes<F32x8>(tap.weight);
    const float* const from = src + tap.offset;
    a = fma(load<F32x8>(from), weight, a);
    b = fma(load<F32x8>(from + kLanes), weight, b);
    c = fma(load<F32x8>(from + 2 * kLanes), weight, c);
    d = fma(load<F32x8>(from + 3 * kLanes), weight, d);
  }
  store(dst, a);
  store(dst + kLanes, b);
  store(dst + 2 * kLanes, c);
  store(dst + 3 * kLanes, d);
}

PEL_LANES void convolve_row(const float* src, float* dst, std::int64_t count, float bias,
                            const std::vector<Tap>& taps) {
  std::int64_t w = 0;
  for (; w + 4 * kLanes <= count; w += 4 * kLanes) convolve_four(src + w, dst + w, bias, taps);
  for (; w + kLanes <= count; w += kLanes) convolve_lanes(src + w, dst + w, bias, taps);
  if (w == count) return;
  if (count >= kLanes) return convolve_lanes(src + count - kLanes, dst + count - kLanes, bias, taps);
  float block[kLanes];
  convolve_lanes(src, block, bias, taps);
  std::copy_n(block, count, dst);
}

// Collects the taps of one output channel.
void find_taps(const ConvCall& c, const std::vector<std::int64_t>& offsets, std::int64_t group,
               std::int64_t out, std::vector<Tap>& taps) {
  const auto* weights =
      reinterpret_cast<const float*>(c.weight.data) + group * c.weight.batch + out * c.weight.channel;
  taps.clear();
  for (std::int64_t d = 0; d < c.axes[0].kernel; ++d) {
    for (std::int64_t h = 0; h < c.axes[1].kernel; ++h) {
      for (std::int64_t w = 0; w < c.axes[2].kernel; ++w)
        taps.push_back({offsets[taps.size()],
                        weights[d * c.weight.axis[0] + h * c.weight.axis[1] + w * c.weight.axis[2]]});
    }
  }
}

void convolve_plane(const ConvCall& c, const PaddedImage& padded, const float* image, std::int64_t n,
                    std::int64_t channel, const std::vector<Tap>& taps) {
  const float bias = c.bias == nullptr ? 0 : reinterpret_cast<const float*>(c.bias)[channel * c.bias_step];
  float* const to = reinterpret_cast<float*>(c.dst.data) + n * c.dst.batch + channel * c.dst.channel;
  for (std::int64_t d = 0; d < c.axes[0].out; ++d) {
    for (std::int64_t h = 0; h < c.axes[1].out; ++h)
      convolve_row(image + padded.offset(d, h, 0), to + d * c.dst.axis[0] + h * c.dst.axis[1], c.axes[2].out,
                   bias, taps);
  }
}

}  // namespace

Support supports_convolution_depthwise(const KernelArgs& args) {
  const ConvCall c(args);
  if (c.dtype != kF32) return Support::no("the depthwise kernel supports only f32");
  if (c.in_channels != 1) return Support::no("a group has more than one channel");
  if (c.transposed) return Support::no("the depthwise kernel does not support transposed convolutions");
  if (c.axes[2].out > 1 && c.dst.axis[2] != 1) return Support::no("rows of the result are strided");
  if (!active_isa()) return Support::no("the processor lacks AVX2");
  return Support::yes();
}

void run_convolution_depthwise(Stream&, const KernelArgs& args) {
  const ConvCall c(args);
  const PaddedImage padded(c);
  const std::vector<std::int64_t> offsets = padded.tap_offsets();
  const std::int64_t multiplications = c.positions() * c.taps() * c.out_channels;
  constexpr std::int64_t kGrainMultiplications = 25'000;
  parallel_for(c.batch * c.groups, Grain::of(kGrainMultiplications, multiplications),
               [&](std::int64_t begin, std::int64_t end) {
                 const DefaultFloatMode mode;
                 const ScratchBuffer scratch(padded.bytes(1));
                 padded.zero_padding(scratch.data());
                 std::vector<Tap> taps;
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t n = i / c.groups, group = i % c.groups;
                   padded.copy_elements(scratch.data(), n, group, 0);
                   for (std::int64_t o = 0; o < c.out_channels; ++o) {
                     find_taps(c, offsets, group, o, taps);
                     convolve_plane(c, padded, reinterpret_cast<const float*>(scratch.data()), n,
                                    group * c.out_channels + o, taps);
                   }
                 }
               });
}

double predict_convolution_depthwise(const KernelArgs& args) {
  const ConvCall c(args);
  constexpr double kCallNs = 2000, kPlaneNs = 300, kFlops = 60, kBytesPerNs = 12;
  return kCallNs + kPlaneNs * static_cast<double>(c.batch * c.groups) + c.flops() / kFlops +
         c.bytes() / kBytesPerNs;
}

}  // namespace pel::cpu

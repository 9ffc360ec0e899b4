// Convolutions: what a call is, for every kernel that may serve it.
//
// Both kinds are one sum over a window: element o of the result along an axis is the sum over k of
// w[k] x[o stride + k dilation - before], where x has `spread` - 1 zeros between its elements and zeros
// around. A transposed convolution has stride 1, spreads the input by its own stride, and its weights lie the
// other way round: negative strides.
#pragma once

#include <string>

#include "pellucid/extend/op.h"

namespace pel::cpu {

inline constexpr int kSpatialAxes = 3;

// Strides are in elements.
struct Image {
  char* data = nullptr;
  std::int64_t batch = 0, channel = 0;
  std::int64_t axis[kSpatialAxes] = {};
};

struct ConvAxis {
  std::int64_t in = 1, out = 1, kernel = 1;
  std::int64_t stride = 1, before = 0, dilation = 1, spread = 1;
  // As the caller gave them; for an engine that knows transposed convolutions itself.
  std::int64_t given_stride = 1, given_padding = 0;

  // Places of the padded, spread input that windows see.
  std::int64_t extent() const { return (out - 1) * stride + (kernel - 1) * dilation + 1; }
};

struct ConvCall {
  explicit ConvCall(const KernelArgs& args);

  DType dtype;
  bool transposed;
  std::int64_t batch, groups;
  std::int64_t in_channels, out_channels;  // of a group
  ConvAxis axes[kSpatialAxes];             // where there are fewer, the first have size 1
  Image src, dst;
  // batch: from group to group, channel: of the result. Flipped where transposed.
  Image weight;
  std::int64_t weight_in;      // from one channel of the input to the next
  const char* bias = nullptr;  // may be null
  std::int64_t bias_step = 0;
  int spatial_rank;  // as called

  std::int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  std::int64_t depth() const { return in_channels * taps(); }
  double flops() const {
    return 2.0 * static_cast<double>(batch * groups * out_channels) * static_cast<double>(positions()) *
           static_cast<double>(depth());
  }
  double bytes() const;
  bool is_depthwise() const { return in_channels == 1 && out_channels == 1; }
  // Whether the channels of the input, and of the result, lie side by side.
  bool channels_last() const;
  // "3x3_s2_p1_d1_g1_bias", with "_nhwc" or "_nchw": for names.
  std::string layout() const;
  std::string shape() const;
};

// Dtype, layout, window, and the sizes up to the next power of two.
std::string convolution_class(const KernelArgs& args);

// Where the elements of the positions of an image lie `step` apart, that step; otherwise 0.
std::int64_t flat_step(const Image& image, const std::int64_t (&sizes)[kSpatialAxes]);

// Plane by plane, for groups of one channel.
Support supports_convolution_depthwise(const KernelArgs& args);
void run_convolution_depthwise(Stream& stream, const KernelArgs& args);
double predict_convolution_depthwise(const KernelArgs& args);

// As one product, for windows of one element where channels lie side by side.
Support supports_convolution_product(const KernelArgs& args);
void run_convolution_product(Stream& stream, const KernelArgs& args);
std::uint64_t scratch_of_convolution_product(const KernelArgs& args);
double predict_convolution_product(const KernelArgs& args);

// By products of matrices over the windows, written out. Serves every call.
void run_convolution_tiles(Stream& stream, const KernelArgs& args);
double predict_convolution_tiles(const KernelArgs& args);

}  // namespace pel::cpu

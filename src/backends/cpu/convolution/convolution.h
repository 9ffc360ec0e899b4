// Convolutions: the description of a call, for every kernel that may serve it.
//
// Both kinds are one sum over a window: element o of the result along an axis is the sum over k of
// w[k] x[o stride + k dilation - before], where x has `input_dilation` - 1 zeros between its elements and
// zero padding. A transposed convolution has stride 1, dilates the input by its own stride, and flips its
// weights: negative strides.
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
  std::int64_t stride = 1, before = 0, dilation = 1, input_dilation = 1;
  // As in the call, for oneDNN, which implements transposed convolutions itself.
  std::int64_t call_stride = 1, call_padding = 0;

  // Returns the number of positions of the padded, dilated input that windows cover.
  std::int64_t extent() const { return (out - 1) * stride + (kernel - 1) * dilation + 1; }
};

struct ConvCall {
  explicit ConvCall(const KernelArgs& args);

  DType dtype;
  bool transposed;
  std::int64_t batch, groups;
  std::int64_t in_channels, out_channels;  // of a group
  ConvAxis axes[kSpatialAxes];             // with fewer axes, the first have size 1
  Image src, dst;
  // The batch stride separates groups, the channel stride output channels. Flipped if transposed.
  Image weight;
  std::int64_t weight_in;      // stride between input channels
  const char* bias = nullptr;  // may be null
  std::int64_t bias_step = 0;
  int spatial_rank;  // as in the call

  std::int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  std::int64_t depth() const { return in_channels * taps(); }
  double flops() const {
    return 2.0 * static_cast<double>(batch * groups * out_channels) * static_cast<double>(positions()) *
           static_cast<double>(depth());
  }
  double bytes() const;
  bool is_depthwise() const { return in_channels == 1 && out_channels == 1; }
  // Returns whether input and result are channels-last.
  bool channels_last() const;
  // Return "nhwc" or "nchw", and "3x3_s2_d1_g1_bias": for kernel names.
  std::string layout() const;
  std::string shape() const;
};

// Returns dtype, layout, window, and the sizes rounded up to a power of two.
std::string convolution_class(const KernelArgs& args);

// Returns the distance between the elements of consecutive positions of an image if it is constant; otherwise
// 0.
std::int64_t flat_step(const Image& image, const std::int64_t (&sizes)[kSpatialAxes]);

// Depthwise: plane by plane, for groups of one channel.
Support supports_convolution_depthwise(const KernelArgs& args);
void run_convolution_depthwise(Stream& stream, const KernelArgs& args);
double predict_convolution_depthwise(const KernelArgs& args);

// One GEMM, for 1x1 windows over channels-last images.
Support supports_convolution_gemm(const KernelArgs& args);
void run_convolution_gemm(Stream& stream, const KernelArgs& args);
std::uint64_t scratch_of_convolution_gemm(const KernelArgs& args);
double predict_convolution_gemm(const KernelArgs& args);

// GEMM tiles over materialized windows (im2col). Serves every call.
void run_convolution_tiles(Stream& stream, const KernelArgs& args);
double predict_convolution_tiles(const KernelArgs& args);

}  // namespace pel::cpu

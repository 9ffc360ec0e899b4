// The convolution kernels: depthwise, one GEMM, oneDNN, and GEMM tiles over windows.
#include "backends/cpu/convolution/convolution.h"

#include <bit>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/gemm/tile_set.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/onednn/convolution.h"

namespace pel::cpu {

ConvCall::ConvCall(const KernelArgs& args)
    : dtype(static_cast<DType>(args.operands[0].dtype)),
      transposed(args.scalars[1].as_int != 0),
      groups(args.scalars[0].as_int) {
  const Operand &out = output(args, 0), &in = input(args, 0), &w = input(args, 1);
  const int rank = out.rank - 2, missing = kSpatialAxes - rank;
  spatial_rank = rank;
  batch = out.sizes[0];
  in_channels = in.sizes[1] / groups;
  out_channels = out.sizes[1] / groups;
  src = {static_cast<char*>(in.data), in.strides[0], in.strides[1], {}};
  dst = {static_cast<char*>(out.data), out.strides[0], out.strides[1], {}};
  const int from_in = transposed ? 0 : 1, from_out = transposed ? 1 : 0;
  weight = {static_cast<char*>(w.data), w.strides[0] * (w.sizes[0] / groups), w.strides[from_out], {}};
  weight_in = w.strides[from_in];
  std::int64_t last_tap = 0;
  for (int i = 0; i < rank; ++i) {
    ConvAxis& a = axes[missing + i];
    a.in = in.sizes[2 + i];
    a.out = out.sizes[2 + i];
    a.kernel = w.sizes[2 + i];
    const PelScalar* scalars = args.scalars + 2 + 3 * i;
    a.call_stride = scalars[0].as_int;
    a.call_padding = scalars[1].as_int;
    a.dilation = scalars[2].as_int;
    if (transposed) {
      a.input_dilation = a.call_stride;
      a.before = (a.kernel - 1) * a.dilation - a.call_padding;
    } else {
      a.stride = a.call_stride;
      a.before = a.call_padding;
    }
    src.axis[missing + i] = in.strides[2 + i];
    dst.axis[missing + i] = out.strides[2 + i];
    const std::int64_t step = w.strides[2 + i];
    weight.axis[missing + i] = transposed ? -step : step;
    if (transposed) last_tap += (a.kernel - 1) * step;
  }
  weight.data += last_tap * size_bytes(dtype);
  if (args.input_count == 3) {
    bias = static_cast<const char*>(input(args, 2).data);
    bias_step = input(args, 2).strides[0];
  }
}

double ConvCall::bytes() const {
  const auto in = static_cast<double>(batch * groups * in_channels) *
                  static_cast<double>(axes[0].in * axes[1].in * axes[2].in);
  const auto out = static_cast<double>(batch * groups * out_channels) * static_cast<double>(positions());
  const auto weights = static_cast<double>(groups * out_channels) * static_cast<double>(depth());
  return (in + out + weights) * static_cast<double>(size_bytes(dtype));
}

bool ConvCall::channels_last() const {
  const bool in = src.channel == 1 && in_channels * groups > 1,
             out = dst.channel == 1 && out_channels * groups > 1;
  return in && (out || out_channels * groups == 1) && axes[2].in * axes[1].in > 1;
}

std::string ConvCall::layout() const { return channels_last() ? "nhwc" : "nchw"; }

std::string ConvCall::shape() const {
  std::string text;
  for (int i = kSpatialAxes - spatial_rank; i < kSpatialAxes; ++i)
    text += fmt::format("{}{}", text.empty() ? "" : "x", axes[i].kernel);
  const ConvAxis& a = axes[kSpatialAxes - 1];
  if (a.call_stride != 1) text += fmt::format("_s{}", a.call_stride);
  if (a.dilation != 1) text += fmt::format("_d{}", a.dilation);
  if (groups != 1) text += is_depthwise() ? "_depthwise" : fmt::format("_g{}", groups);
  if (transposed) text += "_transposed";
  if (bias != nullptr) text += "_bias";
  return text;
}

std::string convolution_class(const KernelArgs& args) {
  const ConvCall c(args);
  const auto up = [](std::int64_t size) { return std::bit_ceil(static_cast<std::uint64_t>(size)); };
  return fmt::format("convolution_{}_{}_{}_{}x{}x{}x{}", name(c.dtype), c.layout(), c.shape(), up(c.batch),
                     up(c.in_channels * c.groups), up(c.out_channels * c.groups), up(c.positions()));
}

std::int64_t flat_step(const Image& image, const std::int64_t (&sizes)[kSpatialAxes]) {
  std::int64_t step = 0, next = 0;
  for (int i = kSpatialAxes; i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (step == 0) {
      step = next = image.axis[i];
    } else if (image.axis[i] != next) {
      return 0;
    }
    next *= sizes[i];
  }
  return step == 0 ? 1 : step;
}

namespace {

std::string describe_depthwise(const KernelArgs& args) {
  const ConvCall c(args);
  return fmt::format("pellucid_avx2_{}_{}_conv_{}_lanes", name(c.dtype), c.layout(), c.shape());
}

std::string describe_tiles(const KernelArgs& args) {
  const ConvCall c(args);
  const TileFamily& family = tiles_for(c.dtype);
  return fmt::format("pellucid_{}_{}_{}_conv_{}_{}x{}", isa_name(family), name(c.dtype), c.layout(),
                     c.shape(), family.rows, family.columns);
}
std::string describe_gemm(const KernelArgs& args) { return describe_tiles(args) + "_gemm"; }

}  // namespace

KernelLists convolution_kernels() {
  static const std::vector<Kernel> kList = [] {
    std::vector<Kernel> list;
    Kernel depthwise{"cpu_convolution_depthwise", supports_convolution_depthwise, run_convolution_depthwise};
    depthwise.predict = predict_convolution_depthwise;
    depthwise.describe = describe_depthwise;
    list.push_back(depthwise);
    Kernel gemm{"cpu_convolution_gemm", supports_convolution_gemm, run_convolution_gemm};
    gemm.predict = predict_convolution_gemm;
    gemm.describe = describe_gemm;
    gemm.scratch_bytes = scratch_of_convolution_gemm;
    list.push_back(gemm);
    if (const std::optional<Kernel> engine = onednn::convolution_kernel()) list.push_back(*engine);
    Kernel tiles{"cpu_convolution_tiles", supports_any, run_convolution_tiles};
    tiles.predict = predict_convolution_tiles;
    tiles.describe = describe_tiles;
    list.push_back(tiles);
    for (Kernel& kernel : list) {
      kernel.shape_class = convolution_class;
      kernel.flops = [](const KernelArgs& args) {
        return static_cast<std::uint64_t>(ConvCall(args).flops());
      };
    }
    return list;
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"convolution", kList}});
  return kLists;
}

}  // namespace pel::cpu

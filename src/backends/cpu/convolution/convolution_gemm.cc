// 1x1 convolutions over channels-last images: one GEMM of all positions by the weights in place. oneDNN would
// first reorder the weights, which takes as long as the GEMM for small images.
#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/isa.h"

namespace pel::cpu {
namespace {

// Returns the constant distance between positions across all images, or 0 if there is none.
std::int64_t position_step(const ConvCall& c, const Image& image, bool is_input) {
  std::int64_t sizes[kSpatialAxes], positions = 1;
  for (int i = 0; i < kSpatialAxes; ++i) {
    sizes[i] = is_input ? c.axes[i].in : c.axes[i].out;
    positions *= sizes[i];
  }
  if (positions == 1) return image.batch;
  const std::int64_t step = flat_step(image, sizes);
  return c.batch == 1 || image.batch == step * positions ? step : 0;
}

// Describes the GEMM: positions are the rows, channels the columns.
TileGemm gemm_of(const ConvCall& c) {
  const Matrix src{c.src.data, 0, position_step(c, c.src, true), 1},
      dst{c.dst.data, 0, position_step(c, c.dst, false), 1},
      weights{c.weight.data, 0, c.weight_in, c.weight.channel};
  return {1, c.batch * c.positions(), c.out_channels, c.in_channels, c.dtype, src, weights, dst, c.dtype, {},
          {}};
}

}  // namespace

Support supports_convolution_gemm(const KernelArgs& args) {
  const ConvCall c(args);
  if (c.dtype != kF32) return Support::no("the 1x1 GEMM supports only f32");
  if (c.transposed || c.groups != 1) return Support::no("the convolution is transposed or grouped");
  for (const ConvAxis& a : c.axes) {
    if (a.kernel != 1 || a.stride != 1 || a.before != 0 || a.in != a.out)
      return Support::no("the window is not 1x1 with stride 1 and without padding");
  }
  if (c.src.channel != 1 || c.dst.channel != 1) return Support::no("the layout is not channels-last");
  if (c.depth() == 0 || c.batch == 0 || c.positions() == 0) return Support::no("the GEMM is empty");
  if (position_step(c, c.src, true) <= 0 || position_step(c, c.dst, false) <= 0)
    return Support::no("the positions have no constant stride");
  return Support::yes();
}

std::uint64_t scratch_of_convolution_gemm(const KernelArgs& args) {
  const ConvCall c(args);
  return static_cast<std::uint64_t>(scratch_bytes(gemm_of(c), tiles_for(c.dtype)));
}

void run_convolution_gemm(Stream&, const KernelArgs& args) {
  static constexpr PelScalar kOnes[2] = {{1, 1, PEL_SCALAR_FLOAT, {}}, {1, 1, PEL_SCALAR_FLOAT, {}}};
  const ConvCall c(args);
  TileGemm gemm = gemm_of(c);
  gemm.scratch = static_cast<char*>(args.scratch);
  if (c.bias != nullptr) {
    gemm.epilogue.loop = gemm_finish_loop(c.dtype);
    gemm.epilogue.inputs.push_back({{const_cast<char*>(c.bias), 0, 0, c.bias_step}, c.dtype});
    gemm.epilogue.scalars = kOnes;
  }
  run_tiles(gemm);
}

double predict_convolution_gemm(const KernelArgs& args) {
  const ConvCall c(args);
  // The same model as for tiles and oneDNN; weights are packed if there are many rows, and read once
  // otherwise.
  constexpr double kCallNs = 2000, kBytesPerNs = 16, kPackedBytesPerNs = 10;
  const double rate = active_isa() == codegen::Isa::Avx512 ? 160 : 75;
  const auto weight_bytes = static_cast<double>(c.out_channels * c.in_channels * size_bytes(c.dtype));
  const double packing = c.batch * c.positions() > kFewRows ? weight_bytes / kPackedBytesPerNs : 0;
  return kCallNs + c.flops() / rate + c.bytes() / kBytesPerNs + packing;
}

}  // namespace pel::cpu

// Convolutions as products of matrices: weights [out channels, depth] by windows [depth, positions], where
// depth runs over channels of the input and taps of the window.
//
// The elements that one tap sees at positions of a row lie side by side in a padded copy of the image. Runs
// of them are copied to panels, as tiles read them (gemm_pack.h). Nothing here depends on how the work is
// cut: an element's products are added in the order of the tiles.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <immintrin.h>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/convolution/padded_image.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/isa.h"
#include "base/thread_pool.h"

namespace pel::cpu {
namespace {

// Positions that follow each other in a row: in bytes.
struct Run {
  std::int64_t from, to, count;
};

// A panel: for each tap the runs, side by side; `row` bytes from tap to tap, of which the last ones may be
// zeros. Chunks of a copy, behind which there is room, may reach over the end of a run, where the next run or
// tap comes; not in the last tap.
enum class Source : bool { Input, Copy };
__attribute__((target("avx2"))) void fill_panel(char* panel, std::int64_t row, Source source,
                                                const char* image, const std::vector<std::int64_t>& taps,
                                                std::int64_t size, const std::vector<Run>& runs) {
  const std::int64_t end = runs.back().to + runs.back().count;
  for (std::size_t t = 0; t < taps.size(); ++t, panel += row) {
    const char* const from = image + taps[t] * size;
    if (source == Source::Copy && t + 1 < taps.size()) {
      for (const Run& run : runs) {
        for (std::int64_t at = 0; at < run.count; at += kChunk)
          copy_chunk(panel + run.to + at, from + run.from + at);
      }
    } else {
      for (const Run& run : runs) copy_exactly(panel + run.to, from + run.from, run.count);
    }
    if (end < row) std::memset(panel + end, 0, static_cast<std::size_t>(row - end));
  }
}

class Convolution {
 public:
  explicit Convolution(const ConvCall& c)
      : c_(c),
        family_(tiles_for(c.dtype)),
        size_(size_bytes(c.dtype)),
        writes_panels_(family_.order == codegen::TileOrder::Chain && family_.type == c.dtype),
        padded_(c),
        out_sizes_{c.axes[0].out, c.axes[1].out, c.axes[2].out},
        sees_input_(writes_panels_ && is_pointwise() && flat_step(c.src, out_sizes_) == 1),
        taps_(sees_input_ ? channel_offsets() : padded_.tap_offsets()),
        weights_(dense_weights()) {
    const std::int64_t panel = std::min(c.depth(), kChainDepth) * family_.columns * family_.element_size;
    constexpr std::int64_t kBlockBytes = 786'432, kMostPanels = 16, kLightBytes = 1 << 20;
    std::int64_t panels =
        std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(panel, 1), 1, kMostPanels);
    // Each block reads all weights: where they stay in L2, blocks may be small enough to be many.
    if (c.out_channels * c.depth() * size_ <= kLightBytes)
      panels = std::clamp<std::int64_t>(c.positions() / family_.columns / kFewBlocks, 1, panels);
    block_ = panels * family_.columns;
  }

  void run() {
    if (is_pointwise() && !sees_input_ && flat_step(c_.src, out_sizes_) != 0) return run_pointwise();
    const double flops = c_.flops() / static_cast<double>(c_.batch * c_.groups);
    constexpr double kSmall = 4e6;
    if (flops < kSmall) {
      // Images too small to be shared out: each is a task.
      parallel_for(c_.batch * c_.groups,
                   std::max<std::int64_t>(1, static_cast<std::int64_t>(1e6 / std::max(flops, 1.0))),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) run_images(i / c_.groups, 1, i % c_.groups);
                   });
      return;
    }
    // Images whose positions fill some blocks of panels together.
    const std::int64_t together =
        std::clamp<std::int64_t>(pieces(kFewBlocks * block_, c_.positions()) - 1, 1, c_.batch);
    for (std::int64_t n = 0; n < c_.batch; n += together) {
      for (std::int64_t g = 0; g < c_.groups; ++g) run_images(n, std::min(together, c_.batch - n), g);
    }
  }

 private:
  static constexpr std::int64_t kFewBlocks = 8;

  // A window of one element, at every place of the input: the input is the matrix.
  bool is_pointwise() const {
    return std::all_of(std::begin(c_.axes), std::end(c_.axes), [](const ConvAxis& a) {
      return a.kernel == 1 && a.stride == 1 && a.spread == 1 && a.before == 0 && a.in == a.out;
    });
  }
  std::vector<std::int64_t> channel_offsets() const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t c = 0; c < c_.in_channels; ++c) offsets.push_back(c * c_.src.channel);
    return offsets;
  }
  void run_pointwise() const {
    for (std::int64_t g = 0; g < c_.groups; ++g) {
      TileProduct product = product_for(g, c_.positions(), dst_matrix(0, g));
      product.batch = c_.batch;
      product.out.batch = c_.dst.batch;
      product.b = {c_.src.data + g * c_.in_channels * c_.src.channel * size_, c_.src.batch, c_.src.channel,
                   flat_step(c_.src, out_sizes_)};
      multiply(product, g);
    }
  }

  Matrix dst_matrix(std::int64_t n, std::int64_t g) const {
    return {c_.dst.data + (n * c_.dst.batch + g * c_.out_channels * c_.dst.channel) * size_, 0,
            c_.dst.channel, flat_step(c_.dst, out_sizes_)};
  }
  TileProduct product_for(std::int64_t g, std::int64_t columns, const Matrix& out) const {
    const std::int64_t rows = c_.out_channels, depth = c_.depth();
    const Matrix weights{weights_.data + g * weights_.batch * size_, 0, weights_.channel, 1};
    return {1, rows, columns, depth, c_.dtype, weights, {}, out, c_.dtype, {}, {}};
  }
  void multiply(TileProduct& product, std::int64_t g) const {
    static constexpr PelScalar kOnes[2] = {{1, 1, PEL_SCALAR_INT, {}}, {1, 1, PEL_SCALAR_INT, {}}};
    if (c_.bias != nullptr) {
      char* const bias = const_cast<char*>(c_.bias) + g * c_.out_channels * c_.bias_step * size_;
      product.epilogue.loop = gemm_finish_loop(c_.dtype);
      product.epilogue.inputs.push_back({{bias, 0, c_.bias_step, 0}, c_.dtype});
      product.epilogue.numbers = kOnes;
    }
    run_tiles(product, family_);
  }

  // Weights as rows that are dense along the depth: as they lie, or copied.
  Image dense_weights() {
    Image dense = c_.weight;
    std::int64_t next = 1;
    bool is_dense = true;
    for (int i = kSpatialAxes; i-- > 0; next *= c_.axes[i].kernel)
      is_dense = is_dense && (c_.axes[i].kernel == 1 || c_.weight.axis[i] == next);
    if (is_dense && (c_.in_channels == 1 || c_.weight_in == next)) return dense;
    const std::int64_t depth = c_.depth(), rows = c_.groups * c_.out_channels;
    copied_weights_.emplace(rows * depth * size_);
    dense.data = copied_weights_->data();
    dense.channel = depth;
    dense.batch = depth * c_.out_channels;
    parallel_for(rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(depth, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) copy_weights(dense.data + r * depth * size_, r);
                 });
    return dense;
  }
  void copy_weights(char* to, std::int64_t row) const {
    const std::int64_t taps = c_.taps();
    const char* from =
        c_.weight.data +
        (row / c_.out_channels * c_.weight.batch + row % c_.out_channels * c_.weight.channel) * size_;
    for (std::int64_t d = 0, tap = 0; d < c_.axes[0].kernel; ++d) {
      for (std::int64_t h = 0; h < c_.axes[1].kernel; ++h) {
        for (std::int64_t w = 0; w < c_.axes[2].kernel; ++w, ++tap) {
          const std::int64_t at = d * c_.weight.axis[0] + h * c_.weight.axis[1] + w * c_.weight.axis[2];
          copy_tile({to + tap * size_, 0, taps * size_},
                    {const_cast<char*>(from) + at * size_, 0, c_.weight_in * size_}, 1, c_.in_channels,
                    size_);
        }
      }
    }
  }

  // Some images of one group: all their positions are columns of one matrix.
  void run_images(std::int64_t first, std::int64_t images, std::int64_t g) const {
    const char* image = c_.src.data + (first * c_.src.batch + g * c_.in_channels * c_.src.channel) * size_;
    std::optional<Room> copy;
    if (!sees_input_) {
      copy.emplace(padded_.bytes(images));
      fill_images(copy->data(), first, images, g);
      image = copy->data();
    }
    const std::int64_t columns = images * c_.positions(), blocks = pieces(columns, block_);
    if (blocks < kFewBlocks) return run_block(image, first, images, g, 0, columns);
    parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        run_block(image, first, images, g, b * block_, std::min(block_, columns - b * block_));
    });
  }
  void fill_images(char* copy, std::int64_t first, std::int64_t images, std::int64_t g) const {
    const std::int64_t channel_bytes = padded_.bytes(1) / std::max<std::int64_t>(c_.in_channels, 1);
    parallel_for(images * c_.in_channels,
                 std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(channel_bytes, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     padded_.fill_channel(copy + padded_.bytes(i / c_.in_channels),
                                          first + i / c_.in_channels, g, i % c_.in_channels);
                 });
  }

  // Some columns: panels are filled and multiplied.
  void run_block(const char* image, std::int64_t first, std::int64_t images, std::int64_t g,
                 std::int64_t column, std::int64_t columns) const {
    const std::int64_t width = writes_panels_ ? family_.columns : columns;
    const Room panels(c_.depth() * pieces(columns, width) * width * size_);
    if (sees_input_ && images == 1) {
      const PackSource source{{const_cast<char*>(image) + column * size_, 0, c_.src.channel, 1}, c_.dtype};
      pack_matrices(family_, {&source, 1}, c_.depth(), columns, panels.data());
    } else {
      fill_panels(panels.data(), width, image, column, columns);
    }
    std::optional<Room> sums;
    Matrix out = dst_matrix(first, g);
    if (images == 1) {
      out.data += column * out.column * size_;
    } else {
      sums.emplace(c_.out_channels * columns * size_);
      out = {sums->data(), 0, columns, 1};
    }
    TileProduct product = product_for(g, columns, out);
    if (writes_panels_) {
      product.packed.data = panels.data();
    } else {
      product.b = {panels.data(), 0, columns, 1};
    }
    multiply(product, g);
    if (images > 1) share_out(sums->data(), first, g, column, columns);
  }

  void fill_panels(char* panels, std::int64_t width, const char* image, std::int64_t column,
                   std::int64_t columns) const {
    parallel_for(pieces(columns, width), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Run> runs;
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t count = std::min(width, columns - p * width);
        find_runs(column + p * width, count, runs);
        const std::int64_t row = writes_panels_ ? family_.width_at(p * width, columns) : count;
        fill_panel(panels + p * width * c_.depth() * size_, row * size_,
                   sees_input_ ? Source::Input : Source::Copy, image, taps_, size_, runs);
      }
    });
  }

  // Where the elements of positions are, for the first tap: rows of each image.
  void find_runs(std::int64_t column, std::int64_t count, std::vector<Run>& runs) const {
    runs.clear();
    const std::int64_t width = sees_input_ ? c_.positions() : c_.axes[2].out, rows = c_.axes[1].out;
    const std::int64_t image = sees_input_ ? c_.src.batch : padded_.image_elements();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t position = (column + done) % c_.positions(), n = (column + done) / c_.positions();
      const std::int64_t w = position % width, run = std::min(width - w, count - done);
      const std::int64_t row =
          sees_input_ ? w : padded_.place(position / width / rows, position / width % rows, w);
      const std::int64_t place = n * image + row;
      runs.push_back({place * size_, done * size_, run * size_});
      done += run;
    }
  }

  // Columns of several images, to each its own.
  void share_out(char* sums, std::int64_t first, std::int64_t g, std::int64_t column,
                 std::int64_t columns) const {
    parallel_for(c_.out_channels, std::max<std::int64_t>(1, 16384 / columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t done = 0; done < columns;) {
                     const std::int64_t n = (column + done) / c_.positions(),
                                        position = (column + done) % c_.positions(),
                                        run = std::min(c_.positions() - position, columns - done);
                     const Matrix out = dst_matrix(first + n, g);
                     copy_tile({out.data + (begin * out.row + position * out.column) * size_, out.row * size_,
                                out.column * size_},
                               {sums + (begin * columns + done) * size_, columns * size_, size_}, end - begin,
                               run, size_);
                     done += run;
                   }
                 });
  }

  const ConvCall& c_;
  const TileFamily& family_;
  std::int64_t size_;
  bool writes_panels_;  // windows go straight to where tiles read them; else through a matrix
  PaddedImage padded_;
  std::int64_t out_sizes_[kSpatialAxes];
  bool sees_input_;                 // windows are of one element: panels are filled from the input itself
  std::vector<std::int64_t> taps_;  // from the first element of a window, in the order of the depth
  std::optional<Room> copied_weights_;
  Image weights_;
  std::int64_t block_;  // columns
};

}  // namespace

void run_convolution_tiles(Stream&, const KernelArgs& args) {
  const ConvCall c(args);
  Convolution(c).run();
}

double predict_convolution_tiles(const KernelArgs& args) {
  // Floating-point operations a nanosecond are those of large images on a server core of 2023; the windows
  // are written out once.
  const ConvCall c(args);
  const TileFamily& family = tiles_for(c.dtype);
  const bool wide = active_isa() == codegen::Isa::Avx512;
  const double rate = (family.is_amx() ? 800
                       : wide          ? 160
                                       : 75) *
                      4.0 / static_cast<double>(size_bytes(family.type));
  constexpr double kCallNs = 3000, kGroupNs = 1500;
  const double bytes_per_ns = c.taps() == 1 && c.axes[2].stride == 1 ? 12 : 6;
  const auto groups = static_cast<double>(c.groups * c.batch);
  const double windows = groups * static_cast<double>(c.depth() * c.positions() * size_bytes(c.dtype));
  return kCallNs + kGroupNs * groups + c.flops() / rate + (windows + c.bytes()) / bytes_per_ns;
}

}  // namespace pel::cpu

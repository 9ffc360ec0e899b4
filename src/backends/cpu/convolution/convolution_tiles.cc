// Convolutions as GEMM (im2col): weights [out channels, depth] by windows [depth, positions], where depth
// runs over input channels and taps of the window.
//
// In a padded copy of the image, the elements that one tap reads at the positions of a row are contiguous.
// Runs of them are copied to panels, in the order that tiles read (gemm_pack.h). The result does not depend
// on how the work is split: an element's products are added in the order of the tiles.
//
// Parts: fill_panel copies runs to panels. Convolution::run chooses between a 1x1 window (run_pointwise, one
// GEMM per image) and materialized windows (run_images): run_block fills the panels of some columns, runs
// the tiles and applies the bias, and scatter_images distributes columns that belong to several images.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "pellucid/threads.h"

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/convolution/padded_image.h"
#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"

namespace pel::cpu {
namespace {

// Consecutive positions in a row, in bytes.
struct Run {
  std::int64_t from, to, count;
};

// Fills a panel: for each tap the runs, contiguous; `row` bytes per tap, with zeros at the end. If the source
// is a copy, it has slack after its end, so chunks may overrun the end of a run, where the next run or tap
// follows; not in the last tap.
enum class Source : bool { Input, Copy };
PEL_LANES void fill_panel(char* panel, std::int64_t row, Source source, const char* image,
                          const std::vector<std::int64_t>& taps, std::int64_t size,
                          const std::vector<Run>& runs) {
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
        reads_input_(writes_panels_ && is_pointwise() && flat_step(c.src, out_sizes_) == 1),
        taps_(reads_input_ ? channel_offsets() : padded_.tap_offsets()),
        weights_(dense_weights()) {
    const std::int64_t panel = std::min(c.depth(), kChainDepth) * family_.columns * family_.element_size;
    constexpr std::int64_t kBlockBytes = 786'432, kMaxPanels = 16, kLightBytes = 1 << 20;
    std::int64_t panels =
        std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(panel, 1), 1, kMaxPanels);
    // Each block reads all weights: if they stay in L2, blocks may be small, so that there are many.
    if (c.out_channels * c.depth() * size_ <= kLightBytes)
      panels = std::clamp<std::int64_t>(c.positions() / family_.columns / min_blocks(), 1, panels);
    block_ = panels * family_.columns;
  }

  void run() {
    if (is_pointwise() && !reads_input_ && flat_step(c_.src, out_sizes_) != 0) return run_pointwise();
    const double flops = c_.flops() / static_cast<double>(c_.batch * c_.groups);
    constexpr double kSmall = 4e6;
    if (flops < kSmall) {
      // Images too small to split: each is a task.
      parallel_for(c_.batch * c_.groups, Grain::of(kGrainFlops, static_cast<std::int64_t>(flops)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) run_images(i / c_.groups, 1, i % c_.groups);
                   });
      return;
    }
    // Images whose positions together fill some blocks of panels.
    const std::int64_t together =
        std::clamp<std::int64_t>(ceil_div(min_blocks() * block_, c_.positions()) - 1, 1, c_.batch);
    for (std::int64_t n = 0; n < c_.batch; n += together) {
      for (std::int64_t g = 0; g < c_.groups; ++g) run_images(n, std::min(together, c_.batch - n), g);
    }
  }

 private:
  // At least so many blocks are worth more than larger ones.
  static std::int64_t min_blocks() { return std::max<std::int64_t>(8, 4 * thread_count()); }

  // Returns whether the window is 1x1 with stride 1: the input itself is the matrix.
  bool is_pointwise() const {
    return std::all_of(std::begin(c_.axes), std::end(c_.axes), [](const ConvAxis& a) {
      return a.kernel == 1 && a.stride == 1 && a.input_dilation == 1 && a.before == 0 && a.in == a.out;
    });
  }
  std::vector<std::int64_t> channel_offsets() const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t c = 0; c < c_.in_channels; ++c) offsets.push_back(c * c_.src.channel);
    return offsets;
  }
  void run_pointwise() const {
    for (std::int64_t g = 0; g < c_.groups; ++g) {
      TileGemm gemm = gemm_for(g, c_.positions(), dst_matrix(0, g));
      gemm.batch = c_.batch;
      gemm.out.batch = c_.dst.batch;
      gemm.b = {c_.src.data + g * c_.in_channels * c_.src.channel * size_, c_.src.batch, c_.src.channel,
                flat_step(c_.src, out_sizes_)};
      multiply(gemm, g);
    }
  }

  Matrix dst_matrix(std::int64_t n, std::int64_t g) const {
    return {c_.dst.data + (n * c_.dst.batch + g * c_.out_channels * c_.dst.channel) * size_, 0,
            c_.dst.channel, flat_step(c_.dst, out_sizes_)};
  }
  TileGemm gemm_for(std::int64_t g, std::int64_t columns, const Matrix& out) const {
    const std::int64_t rows = c_.out_channels, depth = c_.depth();
    const Matrix weights{weights_.data + g * weights_.batch * size_, 0, weights_.channel, 1};
    return {1, rows, columns, depth, c_.dtype, weights, {}, out, c_.dtype, {}, {}};
  }
  void multiply(TileGemm& gemm, std::int64_t g) const {
    static constexpr PelScalar kOnes[2] = {{1, 1, PEL_SCALAR_INT, {}}, {1, 1, PEL_SCALAR_INT, {}}};
    if (c_.bias != nullptr) {
      char* const bias = const_cast<char*>(c_.bias) + g * c_.out_channels * c_.bias_step * size_;
      gemm.epilogue.loop = gemm_finish_loop(c_.dtype);
      gemm.epilogue.inputs.push_back({{bias, 0, c_.bias_step, 0}, c_.dtype});
      gemm.epilogue.scalars = kOnes;
    }
    run_tiles(gemm, family_);
  }

  // Returns weights as rows that are dense along the depth: in place, or copied.
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
    parallel_for(rows, Grain::of(kGrainElements, depth), [&](std::int64_t begin, std::int64_t end) {
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

  // Processes some images of one group: all their positions are columns of one matrix.
  void run_images(std::int64_t first, std::int64_t images, std::int64_t g) const {
    const char* image = c_.src.data + (first * c_.src.batch + g * c_.in_channels * c_.src.channel) * size_;
    std::optional<ScratchBuffer> copy;
    if (!reads_input_) {
      copy.emplace(padded_.bytes(images));
      fill_images(copy->data(), first, images, g);
      image = copy->data();
    }
    const std::int64_t columns = images * c_.positions(), blocks = ceil_div(columns, block_);
    if (blocks < min_blocks()) return run_block(image, first, images, g, 0, columns);
    parallel_for(blocks, Grain::of(kGrainFlops, block_ * 2 * c_.out_channels * c_.depth()),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t b = begin; b < end; ++b)
                     run_block(image, first, images, g, b * block_, std::min(block_, columns - b * block_));
                 });
  }
  void fill_images(char* copy, std::int64_t first, std::int64_t images, std::int64_t g) const {
    const std::int64_t channel_bytes = padded_.bytes(1) / std::max<std::int64_t>(c_.in_channels, 1);
    parallel_for(images * c_.in_channels, Grain::of(kCopyGrainBytes, channel_bytes),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     padded_.fill_channel(copy + padded_.bytes(i / c_.in_channels),
                                          first + i / c_.in_channels, g, i % c_.in_channels);
                 });
  }

  // Processes some columns: fills panels and multiplies them.
  void run_block(const char* image, std::int64_t first, std::int64_t images, std::int64_t g,
                 std::int64_t column, std::int64_t columns) const {
    const std::int64_t width = writes_panels_ ? family_.columns : columns;
    const ScratchBuffer panels(c_.depth() * ceil_div(columns, width) * width * size_);
    if (reads_input_ && images == 1) {
      const PackSource source{{const_cast<char*>(image) + column * size_, 0, c_.src.channel, 1}, c_.dtype};
      pack_matrices(family_, {&source, 1}, c_.depth(), columns, panels.data());
    } else {
      fill_panels(panels.data(), width, image, column, columns);
    }
    std::optional<ScratchBuffer> sums;
    Matrix out = dst_matrix(first, g);
    if (images == 1) {
      out.data += column * out.column * size_;
    } else {
      sums.emplace(c_.out_channels * columns * size_);
      out = {sums->data(), 0, columns, 1};
    }
    TileGemm gemm = gemm_for(g, columns, out);
    if (writes_panels_) {
      gemm.packed.data = panels.data();
    } else {
      gemm.b = {panels.data(), 0, columns, 1};
    }
    multiply(gemm, g);
    if (images > 1) scatter_images(sums->data(), first, g, column, columns);
  }

  void fill_panels(char* panels, std::int64_t width, const char* image, std::int64_t column,
                   std::int64_t columns) const {
    parallel_for(ceil_div(columns, width), Grain::of(kCopyGrainBytes, width * c_.depth() * size_),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<Run> runs;
                   for (std::int64_t p = begin; p < end; ++p) {
                     const std::int64_t count = std::min(width, columns - p * width);
                     find_runs(column + p * width, count, runs);
                     const std::int64_t row = writes_panels_ ? family_.width_at(p * width, columns) : count;
                     fill_panel(panels + p * width * c_.depth() * size_, row * size_,
                                reads_input_ ? Source::Input : Source::Copy, image, taps_, size_, runs);
                   }
                 });
  }

  // Finds the runs of the positions for the first tap: rows of each image.
  void find_runs(std::int64_t column, std::int64_t count, std::vector<Run>& runs) const {
    runs.clear();
    const std::int64_t width = reads_input_ ? c_.positions() : c_.axes[2].out, rows = c_.axes[1].out;
    const std::int64_t image = reads_input_ ? c_.src.batch : padded_.image_elements();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t position = (column + done) % c_.positions(), n = (column + done) / c_.positions();
      const std::int64_t w = position % width, run = std::min(width - w, count - done);
      const std::int64_t row =
          reads_input_ ? w : padded_.offset(position / width / rows, position / width % rows, w);
      const std::int64_t offset = n * image + row;
      runs.push_back({offset * size_, done * size_, run * size_});
      done += run;
    }
  }

  // Distributes columns of several images, to each image its own.
  void scatter_images(char* sums, std::int64_t first, std::int64_t g, std::int64_t column,
                      std::int64_t columns) const {
    parallel_for(c_.out_channels, Grain::of(kGrainElements, columns),
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
  bool writes_panels_;  // windows are written to panels directly; else through a matrix
  PaddedImage padded_;
  std::int64_t out_sizes_[kSpatialAxes];
  bool reads_input_;                // 1x1 windows: panels are filled from the input itself
  std::vector<std::int64_t> taps_;  // offsets from the first element of a window, in the order of the depth
  std::optional<ScratchBuffer> copied_weights_;
  Image weights_;
  std::int64_t block_;  // columns
};

}  // namespace

void run_convolution_tiles(Stream&, const KernelArgs& args) {
  const ConvCall c(args);
  Convolution(c).run();
}

double predict_convolution_tiles(const KernelArgs& args) {
  // The FLOP per nanosecond are those of large images on a server core of 2023; the windows are
  // written once.
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

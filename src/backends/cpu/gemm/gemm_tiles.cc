// Runs a GEMM with tiles. run_tiles transposes narrow results and distributes a batch; SingleGemm multiplies
// one pair of matrices in one of four ways:
//   run_blocks      many rows, or packed weights: blocks of rows by groups of packed panels.
//   run_groups      up to some hundred rows: each group of panels is packed just before all rows use it.
//   run_transposed  AMX, few rows, b dense along k: b is loaded unpacked as rows.
//   run_streamed    few rows otherwise: b is read once, slab by slab (stream_slab).
// Tiles write their sums to the result if nothing is left to do with them; otherwise finish applies the
// epilogue while they are in L1. pack_matrices packs panels ahead of the call.
#include "backends/cpu/gemm/gemm_tiles.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/gemm/tile_mode.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/scratch.h"
#include "base/check.h"
#include "base/thread_object.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

using codegen::kAmxSide;
using codegen::kPairDepth;
using codegen::PelTileCall;
using codegen::TileOrder;

struct Workspace {
  Scratch rows, panel, panels, sums, chains, line;
  static Workspace& of_thread() { return thread_object<Workspace>(); }
};

class SingleGemm {
 public:
  SingleGemm(const TileGemm& gemm, const TileFamily& family, std::int64_t batch)
      : p_(gemm),
        f_(family),
        a_{gemm.a, gemm.dtype},
        b_{{gemm.b, gemm.dtype}, {gemm.second, gemm.dtype}},
        out_(gemm.out),
        batch_(batch),
        depth_(family.padded(gemm.k)),
        sum_size_(size_bytes(family.type)),
        packs_rows_(needs_packing(family, a_)) {
    const std::int64_t size = size_bytes(gemm.dtype);
    a_.matrix.data += batch * gemm.a.batch * size;
    for (int i = 0; i < gemm.sums; ++i) b_[i].matrix.data += batch * b_[i].matrix.batch * size;
    out_.data += batch * gemm.out.batch * size_bytes(gemm.out_type);
  }

  // `panels` is scratch for all panels, if they are needed.
  void run(char* panels) {
    if (p_.packed.data != nullptr) return run_blocks(p_.packed.data);
    if (f_.is_amx() && has_few_rows(p_) && p_.k > 0 && b_[0].matrix.row == 1) return run_transposed();
    if (has_few_rows(p_)) return run_streamed();
    if (packs_groups(p_, f_)) return run_groups();
    pack_matrices(f_, {b_, static_cast<std::size_t>(p_.sums)}, p_.k, p_.n, panels);
    run_blocks(panels);
  }
  // Whether run needs scratch for all panels.
  static bool packs_panels(const TileGemm& p, const TileFamily& family) {
    return p.packed.data == nullptr && !has_few_rows(p) && !packs_groups(p, family);
  }
  // Each panel is read once, which is possible for one sum only, from zero on.
  static bool has_few_rows(const TileGemm& p) { return p.m <= kFewRows && p.sums == 1 && !p.continues; }

 private:
  // Padding between rows of sums, so that they do not map to one set of L1.
  static constexpr std::int64_t kLine = 64;

  // The rows that are multiplied by a group of panels that is packed for them: sums of all of them, and the
  // group, stay in L2. There must be groups for all threads.
  static bool packs_groups(const TileGemm& p, const TileFamily& family) {
    constexpr std::int64_t kManyRows = 512;
    return family.order == TileOrder::Chain && p.m <= kManyRows &&
           ceil_div(p.n, family.columns) >= 2 * thread_count();
  }

  std::int64_t depth_block() const { return f_.order == TileOrder::Chain ? kChainDepth : 8192; }

  // Sets the rows of a for a tile: in place, or packed from `first` on.
  void point_at_rows(PelTileCall& call, const char* packed, std::int64_t first, std::int64_t row,
                     std::int64_t rows, std::int64_t k) const {
    if (f_.is_amx()) {
      const std::int64_t height = rows > kAmxSide ? 2 : 1;
      call.a_row = kRegisterRow;
      call.a_tile = kRegister;
      call.a_step = kRegister * height;
      call.a = packed + (row - first) * depth_ * f_.element_size + k / kPairDepth * call.a_step;
      call.b_tile = kRegister;
    } else if (packs_rows_) {
      call.a_row = packed_row_bytes(f_, p_.k);
      call.a = packed + (row - first) * call.a_row + k * f_.element_size;
    } else {
      call.a_row = a_.matrix.row * f_.element_size;
      call.a = a_.at(row, k);
    }
  }

  // Processes rows by blocks of columns over packed panels. A block of panels stays in L2 across all rows.
  void run_blocks(const char* panels) {
    constexpr std::int64_t kMaxRows = 512;
    const std::int64_t row_bytes = f_.is_amx() ? 786'432 : 262'144;  // of packed rows, which stay in L2
    const std::int64_t threads = thread_count(), depth = std::max<std::int64_t>(depth_, 1);
    std::int64_t rows = kMaxRows;
    if (packs_rows_) rows = std::clamp(row_bytes / (depth * f_.element_size), std::int64_t{1}, kMaxRows);
    rows = std::min(rows, ceil_div(p_.m, threads));
    rows = round_up(std::max<std::int64_t>(rows, std::min<std::int64_t>(p_.m, 64)), f_.rows);
    const std::int64_t all_panels = ceil_div(p_.n, f_.columns);
    std::int64_t group = std::min(max_group(), std::max<std::int64_t>(1, ceil_div(all_panels, threads)));
    if (const int wide = f_.wide_tile(p_.m).panels; group > wide) group = group / wide * wide;
    const std::int64_t groups = ceil_div(all_panels, group), blocks = ceil_div(p_.m, rows);
    parallel_for(blocks * groups, grain(rows * group * f_.columns * p_.sums),
                 [&](std::int64_t begin, std::int64_t end) {
                   Workspace& workspace = Workspace::of_thread();
                   const TileMode mode(f_);
                   char* packed = nullptr;
                   std::int64_t packed_block = -1;
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t row = i / groups * rows, count = std::min(rows, p_.m - row);
                     if (packs_rows_ && packed_block != i / groups) {
                       packed_block = i / groups;
                       packed = workspace.rows.take(packed_rows_bytes(f_, rows, p_.k));
                       pack_rows(f_, a_, {0, p_.k, row, count}, packed);
                     }
                     const std::int64_t first_panel = i % groups * group;
                     run_block(panels, packed, row, row, count, first_panel,
                               std::min(group, all_panels - first_panel), workspace, mode);
                   }
                 });
  }

  // Panels that stay in L2 together, up to the depth of a block.
  std::int64_t max_group() const {
    constexpr std::int64_t kMaxPanels = 16;
    // Panels that are packed already are read once; others are copied, and must stay in L2.
    if (p_.packed.data != nullptr && f_.wide_tile(p_.m).tile != nullptr) return kMaxPanels / p_.sums;
    const std::int64_t bytes = f_.is_amx() ? 196'608 : 786'432,
                       depth = std::clamp(depth_, std::int64_t{1}, depth_block());
    return std::clamp(bytes / (depth * f_.columns * f_.element_size * p_.sums), std::int64_t{1},
                      kMaxPanels / p_.sums);
  }

  // Packs each group of panels where it is multiplied: b is read once, and never written to memory as a
  // whole.
  void run_groups() {
    const std::int64_t all_panels = ceil_div(p_.n, f_.columns);
    const std::int64_t group =
        std::min(max_group(), std::max<std::int64_t>(1, all_panels / (2 * std::int64_t{thread_count()})));
    char* packed = nullptr;
    if (packs_rows_) {
      constexpr std::int64_t kRows = 32;  // packed at once
      packed = Workspace::of_thread().rows.take(packed_rows_bytes(f_, p_.m, p_.k));
      parallel_for(ceil_div(p_.m, kRows), Grain::of(kCopyGrainBytes, kRows * p_.k * f_.element_size),
                   [&](std::int64_t begin, std::int64_t end) {
                     const DefaultFloatMode mode;
                     const std::int64_t first = begin * kRows, rows = std::min(end * kRows, p_.m) - first;
                     pack_rows(f_, a_, {0, p_.k, first, rows}, packed + packed_rows_bytes(f_, first, p_.k));
                   });
    }
    parallel_for(ceil_div(all_panels, group), grain(p_.m * group * f_.columns * p_.sums),
                 [&](std::int64_t begin, std::int64_t end) {
                   Workspace& workspace = Workspace::of_thread();
                   const TileMode mode(f_);
                   for (std::int64_t i = begin; i < end; ++i)
                     run_block(nullptr, packed, 0, 0, p_.m, i * group,
                               std::min(group, all_panels - i * group), workspace, mode);
                 });
  }
  Grain grain(std::int64_t elements) const {
    const double ns =
        static_cast<double>(elements) * static_cast<double>(p_.k + 8) * 2 / (f_.is_amx() ? 800.0 : 100.0);
    return Grain::of(kGrainNs, static_cast<std::int64_t>(ns));
  }

  // Whether the sums are the result.
  bool stores_sums() const { return p_.epilogue.loop == nullptr && p_.out_type == f_.type; }
  // How many of the panels of a block write to it: tiles of chains write neither more rows nor, inside of the
  // result, more columns than they have.
  std::int64_t direct_panels(std::int64_t panel_count, std::int64_t columns) const {
    if (!stores_sums() || f_.order != TileOrder::Chain || out_.column != 1) return 0;
    return columns % f_.unit == 0 ? panel_count : columns / f_.columns;
  }

  // `packed` are rows of a from `first_row` on. Without `panels`, those of the group are packed here.
  void run_block(const char* panels, const char* packed, std::int64_t first_row, std::int64_t row,
                 std::int64_t rows, std::int64_t first_panel, std::int64_t panel_count, Workspace& workspace,
                 const TileMode& mode) const {
    const std::int64_t column = first_panel * f_.columns,
                       columns = std::min(panel_count * f_.columns, p_.n - column);
    const std::int64_t width = panel_count * f_.columns, sums_row = width * p_.sums * sum_size_ + kLine;
    const bool once = depth_ <= depth_block();
    const std::int64_t direct = direct_panels(panel_count, columns);
    char* const sums = workspace.sums.take((once ? f_.rows : round_up(rows, f_.rows)) * sums_row);
    const std::int64_t copy_bytes = std::min(depth_, depth_block()) * width * f_.element_size;
    char* const copy = panels == nullptr ? workspace.panel.take(copy_bytes * p_.sums) : nullptr;
    for (std::int64_t k = 0; k == 0 || k < depth_; k += depth_block()) {
      const std::int64_t depth = std::min(depth_block(), depth_ - k);
      for (int i = 0; panels == nullptr && depth > 0 && i < p_.sums; ++i)
        copy_slab(b_[i], k, k + depth, column, columns, copy + i * copy_bytes);
      for (std::int64_t r = 0; r < rows; r += f_.rows) {
        const std::int64_t height = std::min<std::int64_t>(f_.rows, rows - r);
        PelTileCall call{};
        point_at_rows(call, packed, first_row, row + r, height, k);
        call.depth = depth;
        const TileFamily::Wide wide = f_.wide_tile(height);
        call.b_panel = panels == nullptr ? 0 : panel_at(panels, 1, 0) - panel_at(panels, 0, 0);
        char* const here = sums + (once ? 0 : r) * sums_row;
        if (p_.continues && k == 0) load_sums(row + r, height, column, columns, direct, here, sums_row);
        mode.multiply([&] {
          for (std::int64_t panel = 0, count = 1; panel < panel_count; panel += count) {
            const int panel_columns = f_.width_at((first_panel + panel) * f_.columns, p_.n);
            const std::int64_t end =
                std::min(panel < direct ? direct : panel_count, columns / f_.columns);  // narrow ones apart
            const bool is_wide = panels != nullptr && wide.tile != nullptr && panel + wide.panels <= end;
            codegen::PelTileFn* const tile = is_wide ? wide.tile : f_.tile(height, panel_columns);
            count = is_wide ? wide.panels : 1;
            call.b_step = f_.panel_step(panel_columns);
            for (int i = 0; i < p_.sums; ++i) {
              call.b = panels == nullptr
                           ? copy + i * copy_bytes + panel * f_.columns * depth * f_.element_size
                           : panel_at(panels, first_panel + panel, i) + k * panel_columns * f_.element_size;
              if (panel < direct) {
                call.out = out_.data + ((row + r) * out_.row + column + panel * f_.columns) * sum_size_;
                call.row = out_.row * sum_size_;
              } else {
                call.out = here + (i * width + panel * f_.columns) * sum_size_;
                call.row = sums_row;
              }
              if (k > 0 || p_.continues) (f_.order == TileOrder::Chain ? call.added : call.chain) = call.out;
              tile(&call);
            }
          }
        });
        if (k + depth_block() >= depth_ && direct < panel_count)
          finish(row + r, height, column + direct * f_.columns, (panel_count - direct) * f_.columns,
                 here + direct * f_.columns * sum_size_, sums_row, workspace);
      }
    }
  }

  // Copies the sums in the result, unless tiles go on there.
  void load_sums(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                 std::int64_t direct, char* sums, std::int64_t sums_row) const {
    const std::int64_t skipped = std::min(direct * f_.columns, columns);
    char* const from = out_.data + (row * out_.row + (column + skipped) * out_.column) * sum_size_;
    copy_tile({sums + skipped * sum_size_, sums_row, sum_size_},
              {from, out_.row * sum_size_, out_.column * sum_size_}, rows, columns - skipped, sum_size_);
  }

  const char* panel_at(const char* panels, std::int64_t panel, int matrix) const {
    const std::int64_t bytes = f_.panel_bytes(p_.k);
    if (p_.packed.second == nullptr) return panels + (panel * p_.sums + matrix) * bytes;
    return (matrix == 0 ? panels : p_.packed.second) + panel * bytes;
  }

  // Few rows: b is read once, and multiplied by all of them.
  //
  // If the columns of b are dense and there is one block of rows, b is read unpacked: some k at a time across
  // many panels, so that long runs are read. More rows would reread lines that are too far apart for L1.
  // If b is dense along k, the first block of rows transposes it in registers and stores a copy for the
  // others. Otherwise b is read through packed panels: small enough for L1 if b is dense along k, a few
  // panels if it is dense along its columns.
  void run_streamed() {
    constexpr std::int64_t kL1Copy = 12'288;
    const bool along_columns = b_[0].matrix.column == 1;
    const bool is_unpacked = !needs_packing(f_, b_[0]) && p_.m <= f_.rows;
    Slab slab{1, copied_depth(1, kL1Copy), false};
    if (can_transpose(f_, b_[0])) slab.depth = p_.m <= f_.rows ? kChainDepth : copied_depth(1, 98'304);
    if (is_unpacked) {
      constexpr std::int64_t kMaxPanels = 64, kDepth = 32;
      slab = {shared_panels(p_.n / f_.columns, kMaxPanels), kDepth, true};
    } else if (along_columns) {  // wide slabs read long runs; with more rows, deep ones store sums less often
      const std::int64_t panels = shared_panels(p_.n / f_.columns, f_.is_amx() || p_.m > 16 ? 4 : 8);
      slab = {panels, copied_depth(panels, f_.is_amx() ? 196'608 : 49'152), false};
    }
    const char* packed = nullptr;
    if (packs_rows_) {
      char* workspace = Workspace::of_thread().rows.take(packed_rows_bytes(f_, p_.m, p_.k));
      pack_rows(f_, a_, {0, p_.k, 0, p_.m}, workspace);
      packed = workspace;
    }
    const std::int64_t width = slab.panels * f_.columns,
                       whole = is_unpacked ? p_.n / f_.columns * f_.columns : p_.n;
    parallel_for(ceil_div(whole, width), grain(round_up(p_.m, f_.rows) * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   Workspace& workspace = Workspace::of_thread();
                   const TileMode mode(f_);
                   for (std::int64_t i = begin; i < end; ++i)
                     stream_slab(packed, i * width, std::min(width, whole - i * width), slab, workspace,
                                 mode);
                 });
    if (whole < p_.n)  // less than a panel
      stream_slab(packed, whole, p_.n - whole, {1, copied_depth(1, kL1Copy), false}, Workspace::of_thread(),
                  TileMode(f_));
  }
  struct Slab {
    std::int64_t panels, depth;
    bool is_unpacked;
  };
  // Panels of a slab, so that each thread has two slabs or more.
  static std::int64_t shared_panels(std::int64_t all, std::int64_t max) {
    return std::clamp(ceil_div(all, 2 * std::int64_t{thread_count()}), std::int64_t{1}, max);
  }
  std::int64_t copied_depth(std::int64_t panels, std::int64_t bytes) const {
    return std::max(kPairDepth, bytes / (panels * f_.columns * f_.element_size) / kPairDepth * kPairDepth);
  }

  void stream_slab(const char* packed, std::int64_t column, std::int64_t columns, const Slab& slab,
                   Workspace& workspace, const TileMode& mode) const {
    const std::int64_t width = round_up(columns, f_.columns), row = width * sum_size_ + kLine;
    char* const sums = workspace.sums.take(round_up(p_.m, f_.rows) * row);
    char* const chains = workspace.chains.take(round_up(p_.m, f_.rows) * row);
    const bool is_chain = f_.order == TileOrder::Chain, is_unpacked = slab.is_unpacked;
    const bool transposes = can_transpose(f_, b_[0]) && columns % f_.unit == 0;
    char* const copy = is_unpacked ? nullptr : workspace.panel.take(slab.depth * width * f_.element_size);
    for (std::int64_t k = 0; k == 0 || k < depth_;) {
      const std::int64_t chain_end = is_chain ? round_up(k + 1, kChainDepth) : depth_;
      std::int64_t end = std::min({k + slab.depth, chain_end, depth_});
      const std::int64_t there = std::min(end, p_.k) - k;  // depth is padded with zeros
      const bool transposing = transposes && there >= f_.transposing_unit();
      if (transposing) end = k + there / f_.transposing_unit() * f_.transposing_unit();
      if (!is_unpacked && !transposing) copy_slab(b_[0], k, end, column, columns, copy);
      const bool starts = is_chain ? k % kChainDepth == 0 : k == 0, ends = end == std::min(chain_end, depth_);
      mode.multiply([&] {
        PelTileCall call{};
        call.depth = end - k;
        call.row = row;
        const auto run = [&](codegen::PelTileFn* tile, std::int64_t r, std::int64_t height, std::int64_t c) {
          const std::int64_t offset = r * row + c * sum_size_;
          point_at_rows(call, packed, 0, r, height, k);
          call.chain = starts ? nullptr : chains + offset;
          call.added = ends && is_chain && chain_end > kChainDepth ? sums + offset : nullptr;
          call.out = (ends ? sums : chains) + offset;
          tile(&call);
        };
        const std::int64_t first_rows = std::min<std::int64_t>(f_.rows, p_.m);
        for (std::int64_t c = 0; transposing && c < columns; c += f_.unit) {
          call.b = b_[0].at(k, column + c);
          call.b_step = b_[0].matrix.column * size_bytes(b_[0].dtype);
          call.next = c + f_.unit < columns ? b_[0].at(k, column + c + f_.unit)
                      : end < p_.k          ? b_[0].at(end, column)
                                            : b_[0].at(0, column + columns);
          if (p_.m > f_.rows) {
            const std::int64_t panel = c / f_.columns * f_.columns;
            call.panel_step = f_.panel_step(f_.width_at(column + panel, p_.n));
            call.panel = copy + panel * call.depth * f_.element_size + c % f_.columns * f_.element_size;
          }
          run(f_.transposing[first_rows], 0, first_rows, c);
        }
        for (std::int64_t c = 0; c < width; c += f_.columns) {
          const int panel = f_.width_at(column + c, p_.n);
          call.b_step = is_unpacked ? b_[0].matrix.row * f_.element_size : f_.panel_step(panel);
          call.b = is_unpacked ? b_[0].at(k, column + c) : copy + c * call.depth * f_.element_size;
          for (std::int64_t r = transposing ? f_.rows : 0; r < p_.m; r += f_.rows) {
            const std::int64_t height = std::min<std::int64_t>(f_.rows, p_.m - r);
            run(f_.tile(height, panel), r, height, c);
          }
        }
      });
      k = std::max(end, k + 1);
    }
    finish(0, p_.m, column, width, sums, row, workspace);
  }

  // Packs adjacent panels, each of depth `end` - `k`.
  void copy_slab(const PackSource& b, std::int64_t k, std::int64_t end, std::int64_t column,
                 std::int64_t columns, char* copy) const {
    const std::int64_t depth = end - k;
    if (b.matrix.row == 1) prefetch(b, end, std::min(end + depth, p_.k), column, columns);
    pack_panels(f_, b, {k, std::min(end, p_.k) - k, column, columns}, copy,
                depth * f_.columns * f_.element_size);
  }

  // Prefetches the next block: the hardware prefetcher does not follow short runs that are far apart.
  void prefetch(const PackSource& b, std::int64_t k, std::int64_t end, std::int64_t column,
                std::int64_t columns) const {
    const std::int64_t line = 64 / size_bytes(p_.dtype);
    for (std::int64_t c = column; c < column + columns; ++c) {
      for (std::int64_t l = k; l < end; l += line) __builtin_prefetch(b.at(l, c), 0, 2);
    }
  }

  // AMX, few rows, and a right operand that is dense along k: b is loaded into the row registers unpacked,
  // and the few rows of a take the role of columns.
  void run_transposed() {
    const PackSource transposed{a_.matrix.transposed(), a_.dtype},
        rows_of_b{b_[0].matrix.transposed(), b_[0].dtype};
    char* const panels =
        Workspace::of_thread().panel.take(depth_ * round_up(p_.m, f_.columns) * f_.element_size);
    pack_panels(f_, transposed, {0, p_.k, 0, p_.m}, panels, f_.panel_bytes(p_.k));
    const std::int64_t whole = p_.k / kPairDepth * kPairDepth;
    parallel_for(
        ceil_div(p_.n, f_.rows), grain(f_.rows * round_up(p_.m, kAmxSide)),
        [&](std::int64_t begin, std::int64_t end) {
          Workspace& workspace = Workspace::of_thread();
          const TileMode mode(f_);
          const std::int64_t row = f_.rows * sum_size_;
          char* const transposed_sums = workspace.chains.take(f_.rows * f_.columns * sum_size_);
          char* const sums = workspace.sums.take(round_up(p_.m, f_.columns) * row);
          char* const rest = workspace.rows.take(f_.rows * depth_ * f_.element_size);
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i * f_.rows, count = std::min<std::int64_t>(f_.rows, p_.n - first);
            // The part that does not fill the registers is copied.
            const std::int64_t unpacked_depth = count == f_.rows ? whole : 0;
            if (unpacked_depth < depth_)
              pack_rows(f_, rows_of_b, {unpacked_depth, p_.k - unpacked_depth, first, count}, rest);
            const std::int64_t height = count > kAmxSide ? 2 : 1;
            for (std::int64_t c = 0; c < p_.m; c += f_.columns) {
              const int width = f_.width_at(c, p_.m);
              codegen::PelTileFn* const tile = f_.tile(height * kAmxSide, width);
              PelTileCall call{};
              call.b = panels + c * depth_ * f_.element_size;
              call.b_step = f_.panel_step(width);
              call.b_tile = kRegister;
              call.out = transposed_sums;
              call.row = width * sum_size_;
              if (unpacked_depth > 0) {
                call.a = rows_of_b.at(first, 0);
                call.a_row = b_[0].matrix.column * f_.element_size;
                call.a_tile = kAmxSide * call.a_row;
                call.a_step = kRegisterRow;
                call.depth = unpacked_depth;
                tile(&call);
              }
              if (unpacked_depth < depth_) {
                call.a = rest;
                call.a_row = kRegisterRow;
                call.a_tile = kRegister;
                call.a_step = kRegister * height;
                call.b = static_cast<const char*>(call.b) + unpacked_depth / kPairDepth * call.b_step;
                call.depth = depth_ - unpacked_depth;
                call.chain = unpacked_depth > 0 ? transposed_sums : nullptr;
                tile(&call);
              }
              copy_tile({sums + c * row, row, sum_size_}, {transposed_sums, sum_size_, call.row}, width,
                        f_.rows, sum_size_);
            }
            finish(0, p_.m, first, count, sums, row, workspace);
          }
        });
  }

  // Applies the epilogue to the sums of some rows and columns, clipped to the result.
  void finish(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, char* sums,
              std::int64_t sums_row, Workspace& workspace) const {
    const std::int64_t width = columns * sum_size_;  // distance between the sums of one matrix and the next
    columns = std::min(columns, p_.n - column);
    const std::int64_t size = size_bytes(p_.out_type);
    const TileEpilogue& e = p_.epilogue;
    const std::size_t first_sum = 1 + e.more_outputs.size();
    const std::size_t first_input = first_sum + static_cast<std::size_t>(p_.sums);
    const std::size_t operands = first_input + e.inputs.size();
    void* data[kMaxEpilogueOperands];
    std::int64_t strides[kMaxEpilogueOperands];
    PEL_ASSERT(operands <= kMaxEpilogueOperands, "the epilogue has too many operands");
    const bool dense = out_.column == 1 || columns == 1;
    codegen::PelLoopFn* const loop = e.loop != nullptr ? e.loop
                                     : stores_sums()   ? nullptr
                                                       : cast_loop(f_.type, p_.out_type)->function;
    if (e.loop == nullptr && dense && f_.is_amx() && p_.out_type == kBF16)
      return round_amx_sums(out_.data + (row * out_.row + column * out_.column) * size, out_.row * size, sums,
                            sums_row, rows, columns);
    char* const line = workspace.line.take(static_cast<std::int64_t>(operands) * columns * 8);
    for (std::int64_t r = 0; r < rows; ++r) {
      char* const to = out_.data + ((row + r) * out_.row + column * out_.column) * size;
      if (loop == nullptr) {
        copy_tile({to, 0, out_.column * size}, {sums + r * sums_row, 0, size}, 1, columns, size);
        continue;
      }
      data[0] = dense ? to : line;
      strides[0] = 1;
      for (std::size_t i = 0; i < e.more_outputs.size(); ++i) {
        data[1 + i] = element_of(e.more_outputs[i], row + r, column);
        strides[1 + i] = 1;
      }
      for (int i = 0; i < p_.sums; ++i) {
        const std::size_t at = first_sum + static_cast<std::size_t>(i);
        data[at] = sums + r * sums_row + i * width;
        strides[at] = 1;
      }
      for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        const Matrix& x = e.inputs[i].matrix;
        const std::int64_t input_size = size_bytes(e.inputs[i].dtype);
        char* from = element_of(e.inputs[i], row + r, column);
        const bool repeats = x.column == 0 && columns > 1;
        if (!repeats && x.column != 1 && columns > 1) {
          char* const here = line + static_cast<std::int64_t>(i + 1) * columns * 8;
          copy_tile({here, 0, input_size}, {from, 0, x.column * input_size}, 1, columns, input_size);
          from = here;
        }
        data[first_input + i] = from;
        strides[first_input + i] = repeats ? 0 : 1;
      }
      loop(columns, data, strides, e.scalars);
      if (!dense) copy_tile({to, 0, out_.column * size}, {line, 0, size}, 1, columns, size);
    }
  }
  char* element_of(const TileEpilogue::Operand& operand, std::int64_t row, std::int64_t column) const {
    const Matrix& x = operand.matrix;
    return x.data + (batch_ * x.batch + row * x.row + column * x.column) * size_bytes(operand.dtype);
  }
  // Four results, two sums, what the matmul adds, and as many tensors as fuse_gemm takes.
  static constexpr std::size_t kMaxEpilogueOperands = 16;

  const TileGemm& p_;
  const TileFamily& f_;
  PackSource a_, b_[2];
  Matrix out_;
  std::int64_t batch_;
  std::int64_t depth_;     // k, padded
  std::int64_t sum_size_;  // bytes
  bool packs_rows_;
};

// Transposes the GEMM for a narrow result, so that a panel of columns is not mostly empty.
TileGemm transposed(const TileGemm& p) {
  TileGemm result = p;
  result.m = p.n;
  result.n = p.m;
  result.a = p.b.transposed();
  result.b = p.a.transposed();
  result.out = p.out.transposed();
  for (TileEpilogue::Operand& input : result.epilogue.inputs) input.matrix = input.matrix.transposed();
  return result;
}
bool is_narrow(const TileGemm& p) {
  constexpr std::int64_t kNarrow = 4;
  return p.packed.data == nullptr && p.sums == 1 && p.epilogue.more_outputs.empty() && p.n <= kNarrow &&
         p.m > 2 * p.n;
}

double flops_of_one(const TileGemm& p) {
  return 2.0 * static_cast<double>(p.sums * p.m * p.n) * static_cast<double>(p.k);
}
// Returns whether all threads share one GEMM after the other; otherwise each thread runs GEMMs of its own.
bool threads_share_gemm(const TileGemm& p) {
  constexpr double kLarge = 1e7;
  return p.batch == 1 || flops_of_one(p) >= kLarge;
}

}  // namespace

std::int64_t panels_bytes(const TileFamily& family, std::int64_t k, std::int64_t n) {
  return family.padded(k) * round_up(n, family.columns) * family.element_size;
}

void pack_matrices(const TileFamily& family, ArrayView<PackSource> matrices, std::int64_t k, std::int64_t n,
                   char* panels) {
  const auto count = static_cast<std::int64_t>(matrices.size());
  constexpr std::int64_t kGroup = 4;  // panels that are packed together
  const std::int64_t bytes = family.panel_bytes(k);
  if (bytes == 0) return;
  const std::int64_t width = kGroup * family.columns;
  parallel_for(ceil_div(n, width), Grain::of(kCopyGrainBytes, kGroup * bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 const DefaultFloatMode mode;
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i * width, columns = std::min(width, n - column);
                   for (std::int64_t b = 0; b < count; ++b) {
                     pack_panels(family, matrices[static_cast<std::size_t>(b)], {0, k, column, columns},
                                 panels + (i * kGroup * count + b) * bytes, count * bytes);
                   }
                 }
               });
}

std::int64_t scratch_bytes(const TileGemm& gemm, const TileFamily& family) {
  if (is_narrow(gemm)) return scratch_bytes(transposed(gemm), family);
  return threads_share_gemm(gemm) && SingleGemm::packs_panels(gemm, family)
             ? gemm.sums * panels_bytes(family, gemm.k, gemm.n)
             : 0;
}

void run_tiles(const TileGemm& gemm, const TileFamily& family) {
  if (is_narrow(gemm)) return run_tiles(transposed(gemm), family);
  if (threads_share_gemm(gemm)) {
    char* panels = gemm.scratch;
    std::optional<Tensor> allocated;
    if (const std::int64_t bytes = scratch_bytes(gemm, family); panels == nullptr && bytes != 0) {
      allocated = make_dense({bytes}, kU8, kCpu);
      panels = static_cast<char*>(allocated->raw_data());
    }
    for (std::int64_t b = 0; b < gemm.batch; ++b) SingleGemm(gemm, family, b).run(panels);
    return;
  }
  const double flops = flops_of_one(gemm);
  parallel_for(gemm.batch, Grain::of(kGrainFlops, static_cast<std::int64_t>(flops)),
               [&](std::int64_t begin, std::int64_t end) {
                 char* panels = nullptr;
                 if (SingleGemm::packs_panels(gemm, family))
                   panels =
                       Workspace::of_thread().panels.take(gemm.sums * panels_bytes(family, gemm.k, gemm.n));
                 for (std::int64_t b = begin; b < end; ++b) SingleGemm(gemm, family, b).run(panels);
               });
}

}  // namespace pel::cpu

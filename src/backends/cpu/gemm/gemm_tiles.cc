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
#include "backends/cpu/scratch.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

using codegen::kAmxSide;
using codegen::kPairDepth;
using codegen::PelTileCall;
using codegen::TileOrder;

struct Room {
  Scratch rows, panel, panels, sums, chains, line;
  static Room& of_thread() {
    thread_local Room room;
    return room;
  }
};

class Product {
 public:
  Product(const TileProduct& product, const TileFamily& family, std::int64_t batch)
      : p_(product),
        f_(family),
        a_{product.a, product.dtype},
        b_{product.b, product.dtype},
        out_(product.out),
        batch_(batch),
        depth_(family.padded(product.k)),
        sum_size_(size_bytes(family.type)),
        packs_rows_(needs_packing(family, a_)) {
    const std::int64_t size = size_bytes(product.dtype);
    a_.matrix.data += batch * product.a.batch * size;
    b_.matrix.data += batch * product.b.batch * size;
    out_.data += batch * product.out.batch * size_bytes(product.out_type);
  }

  // `panels` has room for all panels, where they are needed.
  void run(char* panels) {
    if (p_.packed.data != nullptr) return run_blocks(p_.packed.data);
    if (f_.is_amx() && p_.m <= kFewRows && p_.k > 0 && b_.matrix.row == 1) return run_turned();
    if (p_.m <= kFewRows) return run_streamed();
    pack_matrices(f_, {&b_, 1}, p_.k, p_.n, panels);
    run_blocks(panels);
  }
  static bool packs_panels(const TileProduct& p) { return p.packed.data == nullptr && p.m > kFewRows; }

 private:
  static constexpr std::int64_t kFewRows = 64;  // each panel is read once then
  // Beside rows of sums, so that they do not fall into one set of L1.
  static constexpr std::int64_t kLine = 64;

  std::int64_t depth_block() const { return f_.order == TileOrder::Chain ? kChainDepth : 8192; }

  // Where the rows of a are for a tile: in their place, or packed from `first` on.
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

  // Rows by blocks of columns over packed panels. A block of panels stays in L2 while the rows pass by.
  void run_blocks(const char* panels) {
    constexpr std::int64_t kMostRows = 512, kMostPanels = 16;
    // Of a block of panels, and of rows that are packed: both stay in L2.
    const std::int64_t most_bytes = f_.is_amx() ? 196'608 : 786'432,
                       row_bytes = f_.is_amx() ? 786'432 : 262'144;
    const std::int64_t threads = thread_count(), depth = std::max<std::int64_t>(depth_, 1);
    std::int64_t rows = kMostRows;
    if (packs_rows_) rows = std::clamp(row_bytes / (depth * f_.element_size), std::int64_t{1}, kMostRows);
    rows = std::min(rows, pieces(p_.m, threads));
    rows = round_up(std::max<std::int64_t>(rows, std::min<std::int64_t>(p_.m, 64)), f_.rows);
    const int matrices = p_.packed.matrices;
    const std::int64_t all_panels = pieces(p_.n, f_.columns);
    const std::int64_t bytes = std::min(depth, depth_block()) * f_.columns * f_.element_size * matrices;
    std::int64_t group = std::clamp(most_bytes / bytes, std::int64_t{1}, kMostPanels / matrices);
    group = std::min(group, std::max<std::int64_t>(1, pieces(all_panels, threads)));
    const std::int64_t groups = pieces(all_panels, group), blocks = pieces(p_.m, rows);
    parallel_for(blocks * groups, grain(rows * group * f_.columns * matrices),
                 [&](std::int64_t begin, std::int64_t end) {
                   Room& room = Room::of_thread();
                   const TileMode mode(f_);
                   char* packed = nullptr;
                   std::int64_t packed_block = -1;
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t row = i / groups * rows, count = std::min(rows, p_.m - row);
                     if (packs_rows_ && packed_block != i / groups) {
                       packed_block = i / groups;
                       packed = room.rows.take(packed_rows_bytes(f_, rows, p_.k));
                       pack_rows(f_, a_, {0, p_.k, row, count}, packed);
                     }
                     const std::int64_t first_panel = i % groups * group;
                     run_block(panels, packed, row, count, first_panel,
                               std::min(group, all_panels - first_panel), room, mode);
                   }
                 });
  }
  // Tasks worth some 20 µs.
  std::int64_t grain(std::int64_t elements) const {
    const double ns =
        static_cast<double>(elements) * static_cast<double>(p_.k + 8) * 2 / (f_.is_amx() ? 800.0 : 100.0);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(20'000 / std::max(ns, 1.0)));
  }

  void run_block(const char* panels, const char* packed, std::int64_t row, std::int64_t rows,
                 std::int64_t first_panel, std::int64_t panel_count, Room& room, const TileMode& mode) const {
    const int matrices = p_.packed.matrices;
    const std::int64_t width = panel_count * f_.columns, sums_row = width * matrices * sum_size_ + kLine;
    const bool once = depth_ <= depth_block();
    char* const sums = room.sums.take((once ? f_.rows : round_up(rows, f_.rows)) * sums_row);
    for (std::int64_t k = 0; k == 0 || k < depth_; k += depth_block()) {
      const std::int64_t depth = std::min(depth_block(), depth_ - k);
      for (std::int64_t r = 0; r < rows; r += f_.rows) {
        const std::int64_t height = std::min<std::int64_t>(f_.rows, rows - r);
        PelTileCall call{};
        point_at_rows(call, packed, row, row + r, height, k);
        call.depth = depth;
        call.row = sums_row;
        char* const here = sums + (once ? 0 : r) * sums_row;
        mode.multiply([&] {
          for (std::int64_t panel = 0; panel < panel_count; ++panel) {
            const int columns = f_.width_at((first_panel + panel) * f_.columns, p_.n);
            codegen::PelTileFn* const tile = f_.tile(height, columns);
            call.b_step = f_.panel_step(columns);
            for (int i = 0; i < matrices; ++i) {
              call.b = panels + ((first_panel + panel) * matrices + i) * f_.panel_bytes(p_.k) +
                       k * columns * f_.element_size;
              call.out = here + (i * width + panel * f_.columns) * sum_size_;
              if (k > 0) (f_.order == TileOrder::Chain ? call.added : call.chain) = call.out;
              tile(&call);
            }
          }
        });
        if (k + depth_block() >= depth_)
          finish(row + r, height, first_panel * f_.columns, width, here, sums_row, room);
      }
    }
  }

  // Few rows: b is read once, and multiplied by all of them.
  //
  // As it lies, where its columns are dense and one block of rows is all there is: some k at a time across
  // many panels, so that long runs are read. More rows would read lines again that lie too far apart for L1.
  // Where b is dense along k, the first block of rows turns it in registers and leaves a copy for the others.
  // Else through copies of panels: small enough for L1 where b is dense along k, of a few panels where it is
  // dense along its columns.
  void run_streamed() {
    constexpr std::int64_t kL1Copy = 12'288;
    const bool along_columns = b_.matrix.column == 1;
    const bool lies_well = !needs_packing(f_, b_) && p_.m <= f_.rows;
    Slab slab{1, copied_depth(1, kL1Copy), false};
    if (may_turn(f_, b_)) slab.depth = p_.m <= f_.rows ? kChainDepth : copied_depth(1, 98'304);
    if (lies_well) {
      constexpr std::int64_t kMostPanels = 64, kDepth = 32;
      slab = {std::clamp(pieces(p_.n / f_.columns, thread_count()), std::int64_t{1}, kMostPanels), kDepth,
              true};
    } else if (along_columns) {
      slab = f_.is_amx() ? Slab{4, copied_depth(4, 196'608), false} : Slab{2, copied_depth(2, 49'152), false};
    }
    const char* packed = nullptr;
    if (packs_rows_) {
      char* room = Room::of_thread().rows.take(packed_rows_bytes(f_, p_.m, p_.k));
      pack_rows(f_, a_, {0, p_.k, 0, p_.m}, room);
      packed = room;
    }
    const std::int64_t width = slab.panels * f_.columns,
                       whole = lies_well ? p_.n / f_.columns * f_.columns : p_.n;
    parallel_for(pieces(whole, width), grain(round_up(p_.m, f_.rows) * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   Room& room = Room::of_thread();
                   const TileMode mode(f_);
                   for (std::int64_t i = begin; i < end; ++i)
                     stream_slab(packed, i * width, std::min(width, whole - i * width), slab, room, mode);
                 });
    if (whole < p_.n)  // less than a panel
      stream_slab(packed, whole, p_.n - whole, {1, copied_depth(1, kL1Copy), false}, Room::of_thread(),
                  TileMode(f_));
  }
  struct Slab {
    std::int64_t panels, depth;
    bool lies_well;
  };
  std::int64_t copied_depth(std::int64_t panels, std::int64_t bytes) const {
    return std::max(kPairDepth, bytes / (panels * f_.columns * f_.element_size) / kPairDepth * kPairDepth);
  }

  void stream_slab(const char* packed, std::int64_t column, std::int64_t columns, const Slab& slab,
                   Room& room, const TileMode& mode) const {
    const std::int64_t width = round_up(columns, f_.columns), row = width * sum_size_ + kLine;
    char* const sums = room.sums.take(round_up(p_.m, f_.rows) * row);
    char* const chains = room.chains.take(round_up(p_.m, f_.rows) * row);
    const bool is_chain = f_.order == TileOrder::Chain, as_it_lies = slab.lies_well;
    const bool turns = may_turn(f_, b_) && columns % f_.unit == 0;
    char* const copy = as_it_lies ? nullptr : room.panel.take(slab.depth * width * f_.element_size);
    for (std::int64_t k = 0; k == 0 || k < depth_;) {
      const std::int64_t chain_end = is_chain ? round_up(k + 1, kChainDepth) : depth_;
      std::int64_t end = std::min({k + slab.depth, chain_end, depth_});
      const std::int64_t there = std::min(end, p_.k) - k;  // depth is filled up with zeros
      const bool turning = turns && there >= f_.turning_unit();
      if (turning) end = k + there / f_.turning_unit() * f_.turning_unit();
      if (!as_it_lies && !turning) copy_slab(k, end, column, columns, copy);
      const bool starts = is_chain ? k % kChainDepth == 0 : k == 0, ends = end == std::min(chain_end, depth_);
      mode.multiply([&] {
        PelTileCall call{};
        call.depth = end - k;
        call.row = row;
        const auto run = [&](codegen::PelTileFn* tile, std::int64_t r, std::int64_t height, std::int64_t c) {
          const std::int64_t place = r * row + c * sum_size_;
          point_at_rows(call, packed, 0, r, height, k);
          call.chain = starts ? nullptr : chains + place;
          call.added = ends && is_chain && chain_end > kChainDepth ? sums + place : nullptr;
          call.out = (ends ? sums : chains) + place;
          tile(&call);
        };
        const std::int64_t first_rows = std::min<std::int64_t>(f_.rows, p_.m);
        for (std::int64_t c = 0; turning && c < columns; c += f_.unit) {
          call.b = b_.at(k, column + c);
          call.b_step = b_.matrix.column * size_bytes(b_.dtype);
          call.next = c + f_.unit < columns ? b_.at(k, column + c + f_.unit)
                      : end < p_.k          ? b_.at(end, column)
                                            : b_.at(0, column + columns);
          if (p_.m > f_.rows) {
            const std::int64_t panel = c / f_.columns * f_.columns;
            call.panel_step = f_.panel_step(f_.width_at(column + panel, p_.n));
            call.panel = copy + panel * call.depth * f_.element_size + c % f_.columns * f_.element_size;
          }
          run(f_.turning[first_rows], 0, first_rows, c);
        }
        for (std::int64_t c = 0; c < width; c += f_.columns) {
          const int panel = f_.width_at(column + c, p_.n);
          call.b_step = as_it_lies ? b_.matrix.row * f_.element_size : f_.panel_step(panel);
          call.b = as_it_lies ? b_.at(k, column + c) : copy + c * call.depth * f_.element_size;
          for (std::int64_t r = turning ? f_.rows : 0; r < p_.m; r += f_.rows) {
            const std::int64_t height = std::min<std::int64_t>(f_.rows, p_.m - r);
            run(f_.tile(height, panel), r, height, c);
          }
        }
      });
      k = std::max(end, k + 1);
    }
    finish(0, p_.m, column, width, sums, row, room);
  }

  // Panels beside each other, each of `end` - `k`.
  void copy_slab(std::int64_t k, std::int64_t end, std::int64_t column, std::int64_t columns,
                 char* copy) const {
    const std::int64_t depth = end - k;
    if (b_.matrix.row == 1) fetch(end, std::min(end + depth, p_.k), column, columns);
    pack_panels(f_, b_, {k, std::min(end, p_.k) - k, column, columns}, copy,
                depth * f_.columns * f_.element_size);
  }

  // What is read next: the processor's own fetching does not follow short runs that lie far apart.
  void fetch(std::int64_t k, std::int64_t end, std::int64_t column, std::int64_t columns) const {
    const std::int64_t line = 64 / size_bytes(p_.dtype);
    for (std::int64_t c = column; c < column + columns; ++c) {
      for (std::int64_t l = k; l < end; l += line) _mm_prefetch(b_.at(l, c), _MM_HINT_T1);
    }
  }

  // AMX, few rows, and a matrix on the right that is dense along k: it goes into the registers of rows as it
  // lies, and the few rows stand for columns.
  void run_turned() {
    const PackSource turned{a_.matrix.turned(), a_.dtype}, rows_of_b{b_.matrix.turned(), b_.dtype};
    char* const panels = Room::of_thread().panel.take(depth_ * round_up(p_.m, f_.columns) * f_.element_size);
    pack_panels(f_, turned, {0, p_.k, 0, p_.m}, panels, f_.panel_bytes(p_.k));
    const std::int64_t whole = p_.k / kPairDepth * kPairDepth;
    parallel_for(pieces(p_.n, f_.rows), grain(f_.rows * round_up(p_.m, kAmxSide)),
                 [&](std::int64_t begin, std::int64_t end) {
                   Room& room = Room::of_thread();
                   const TileMode mode(f_);
                   const std::int64_t row = f_.rows * sum_size_;
                   char* const turned_sums = room.chains.take(f_.rows * f_.columns * sum_size_);
                   char* const sums = room.sums.take(round_up(p_.m, f_.columns) * row);
                   char* const rest = room.rows.take(f_.rows * depth_ * f_.element_size);
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t first = i * f_.rows,
                                        count = std::min<std::int64_t>(f_.rows, p_.n - first);
                     // What does not fill the registers is copied.
                     const std::int64_t as_it_lies = count == f_.rows ? whole : 0;
                     if (as_it_lies < depth_)
                       pack_rows(f_, rows_of_b, {as_it_lies, p_.k - as_it_lies, first, count}, rest);
                     const std::int64_t height = count > kAmxSide ? 2 : 1;
                     for (std::int64_t c = 0; c < p_.m; c += f_.columns) {
                       const int width = f_.width_at(c, p_.m);
                       codegen::PelTileFn* const tile = f_.tile(height * kAmxSide, width);
                       PelTileCall call{};
                       call.b = panels + c * depth_ * f_.element_size;
                       call.b_step = f_.panel_step(width);
                       call.b_tile = kRegister;
                       call.out = turned_sums;
                       call.row = width * sum_size_;
                       if (as_it_lies > 0) {
                         call.a = rows_of_b.at(first, 0);
                         call.a_row = b_.matrix.column * f_.element_size;
                         call.a_tile = kAmxSide * call.a_row;
                         call.a_step = kRegisterRow;
                         call.depth = as_it_lies;
                         tile(&call);
                       }
                       if (as_it_lies < depth_) {
                         call.a = rest;
                         call.a_row = kRegisterRow;
                         call.a_tile = kRegister;
                         call.a_step = kRegister * height;
                         call.b = static_cast<const char*>(call.b) + as_it_lies / kPairDepth * call.b_step;
                         call.depth = depth_ - as_it_lies;
                         call.chain = as_it_lies > 0 ? turned_sums : nullptr;
                         tile(&call);
                       }
                       copy_tile({sums + c * row, row, sum_size_}, {turned_sums, sum_size_, call.row}, width,
                                 f_.rows, sum_size_);
                     }
                     finish(0, p_.m, first, count, sums, row, room);
                   }
                 });
  }

  // Sums of some rows and columns, as far as they are part of the result.
  void finish(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, char* sums,
              std::int64_t sums_row, Room& room) const {
    const std::int64_t width = columns * sum_size_;  // from the sums of one matrix to those of the next
    columns = std::min(columns, p_.n - column);
    const std::int64_t size = size_bytes(p_.out_type);
    const TileEpilogue& e = p_.epilogue;
    const std::size_t first_input = 1 + static_cast<std::size_t>(p_.packed.matrices);
    const std::size_t operands = first_input + e.inputs.size();
    void* data[kMostOperands];
    std::int64_t strides[kMostOperands];
    PEL_ASSERT(operands <= kMostOperands, "an epilogue has few operands");
    const bool dense = out_.column == 1 || columns == 1;
    const bool stores_sums = e.loop == nullptr && p_.out_type == f_.type;
    codegen::PelLoopFn* const loop = e.loop != nullptr ? e.loop
                                     : stores_sums     ? nullptr
                                                       : cast_loop(f_.type, p_.out_type)->function;
    if (e.loop == nullptr && dense && f_.is_amx() && p_.out_type == kBF16)
      return round_amx_sums(out_.data + (row * out_.row + column * out_.column) * size, out_.row * size, sums,
                            sums_row, rows, columns);
    char* const line = room.line.take(static_cast<std::int64_t>(operands) * columns * 8);
    for (std::int64_t r = 0; r < rows; ++r) {
      char* const to = out_.data + ((row + r) * out_.row + column * out_.column) * size;
      if (stores_sums) {
        copy_tile({to, 0, out_.column * size}, {sums + r * sums_row, 0, size}, 1, columns, size);
        continue;
      }
      data[0] = dense ? to : line;
      strides[0] = 1;
      for (int i = 0; i < p_.packed.matrices; ++i) {
        data[1 + i] = sums + r * sums_row + i * width;
        strides[1 + i] = 1;
      }
      for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        const Matrix& x = e.inputs[i].matrix;
        const std::int64_t input_size = size_bytes(e.inputs[i].dtype);
        char* from = x.data + (batch_ * x.batch + (row + r) * x.row + column * x.column) * input_size;
        const bool repeats = x.column == 0 && columns > 1;
        if (!repeats && x.column != 1 && columns > 1) {
          char* const here = line + static_cast<std::int64_t>(i + 1) * columns * 8;
          copy_tile({here, 0, input_size}, {from, 0, x.column * input_size}, 1, columns, input_size);
          from = here;
        }
        data[first_input + i] = from;
        strides[first_input + i] = repeats ? 0 : 1;
      }
      loop(columns, data, strides, e.numbers);
      if (!dense) copy_tile({to, 0, out_.column * size}, {line, 0, size}, 1, columns, size);
    }
  }
  static constexpr std::size_t kMostOperands = 8;

  const TileProduct& p_;
  const TileFamily& f_;
  PackSource a_, b_;
  Matrix out_;
  std::int64_t batch_;
  std::int64_t depth_;     // k, filled up
  std::int64_t sum_size_;  // bytes
  bool packs_rows_;
};

// A narrow result is turned, so that a panel of columns is not mostly empty.
TileProduct turned(const TileProduct& p) {
  TileProduct result = p;
  result.m = p.n;
  result.n = p.m;
  result.a = p.b.turned();
  result.b = p.a.turned();
  result.out = p.out.turned();
  for (TileEpilogue::Input& input : result.epilogue.inputs) input.matrix = input.matrix.turned();
  return result;
}
bool is_narrow(const TileProduct& p) {
  constexpr std::int64_t kNarrow = 4;
  return p.packed.data == nullptr && p.n <= kNarrow && p.m > 2 * p.n;
}

double flops_of_one(const TileProduct& p) {
  return 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k);
}
// The threads share one product after the other; else each has products of its own.
bool shares_threads(const TileProduct& p) {
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
  parallel_for(pieces(n, width),
               std::max<std::int64_t>(1, (1 << 17) / std::max<std::int64_t>(1, kGroup * bytes)),
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

std::int64_t scratch_bytes(const TileProduct& product, const TileFamily& family) {
  if (is_narrow(product)) return scratch_bytes(turned(product), family);
  return shares_threads(product) && Product::packs_panels(product)
             ? panels_bytes(family, product.k, product.n)
             : 0;
}

void run_tiles(const TileProduct& product, const TileFamily& family) {
  if (is_narrow(product)) return run_tiles(turned(product), family);
  if (shares_threads(product)) {
    char* panels = product.scratch;
    std::optional<Tensor> taken;
    if (const std::int64_t bytes = scratch_bytes(product, family); panels == nullptr && bytes != 0) {
      taken = make_dense({bytes}, kU8, kCpu);
      panels = static_cast<char*>(taken->raw_data());
    }
    for (std::int64_t b = 0; b < product.batch; ++b) Product(product, family, b).run(panels);
    return;
  }
  const double flops = flops_of_one(product);
  parallel_for(product.batch,
               std::max<std::int64_t>(1, static_cast<std::int64_t>(1e6 / std::max(flops, 1.0))),
               [&](std::int64_t begin, std::int64_t end) {
                 char* panels = nullptr;
                 if (Product::packs_panels(product))
                   panels = Room::of_thread().panels.take(panels_bytes(family, product.k, product.n));
                 for (std::int64_t b = begin; b < end; ++b) Product(product, family, b).run(panels);
               });
}

}  // namespace pel::cpu

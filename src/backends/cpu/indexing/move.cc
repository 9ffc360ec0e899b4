// cat, flip, roll, tril and triu: copies of runs of elements.
#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/elementwise/strided_loop.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/lanes.h"

namespace pel::cpu {
namespace {

// Shorter runs are copied one input at a time, with strides.
constexpr std::int64_t kShortRunBytes = 64;

std::int64_t product(const std::int64_t* sizes, int from, int to) {
  std::int64_t count = 1;
  for (int i = from; i < to; ++i) count *= sizes[i];
  return count;
}

using Sizes = SmallVector<std::int64_t, 8>;
Sizes copy_of(const std::int64_t* values, int rank) {
  return Sizes(ArrayView<std::int64_t>(values, static_cast<std::size_t>(rank)));
}

// cat. Operands: dst; the tensors; scalar: the axis.
struct Pieces {
  std::int64_t outer;                     // number of repetitions of one run per tensor
  SmallVector<std::int64_t, 8> run_ends;  // in bytes, within one run of the result
};

Pieces pieces_of(const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto axis = static_cast<int>(args.scalars[0].as_int);
  const std::int64_t inner_bytes = product(dst.sizes, axis + 1, dst.rank) * width_of(dst);
  Pieces pieces{product(dst.sizes, 0, axis), {}};
  std::int64_t end = 0;
  for (int i = 0; i < args.input_count; ++i)
    pieces.run_ends.push_back(end += input(args, i).sizes[axis] * inner_bytes);
  return pieces;
}

Support cat_in_runs(const KernelArgs& args) {
  std::int64_t before = 0;
  for (int i = 0; i < args.input_count; ++i) {
    if (!is_row_major(input(args, i))) return Support::no("an input is not row-major");
  }
  const Pieces pieces = pieces_of(args);
  for (const std::int64_t end : pieces.run_ends) {
    if (end - before < kShortRunBytes && end != before) return Support::no("an input has short runs");
    before = end;
  }
  return Support::yes();
}

void run_cat_runs(Stream&, const KernelArgs& args) {
  const Pieces pieces = pieces_of(args);
  const std::int64_t run = pieces.run_ends.back(), bytes = pieces.outer * run;
  const bool streams = bytes >= kStreamBytes;
  auto* to = static_cast<char*>(output(args, 0).data);
  parallel_for(bytes, kCopyGrainBytes, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t outer = begin / run, at = begin % run;  // position of the next byte to write
    int piece = 0;
    while (at >= pieces.run_ends[static_cast<std::size_t>(piece)]) ++piece;
    while (begin < end) {
      const auto p = static_cast<std::size_t>(piece);
      const std::int64_t first = p == 0 ? 0 : pieces.run_ends[p - 1];
      const std::int64_t length = pieces.run_ends[p] - first;
      const std::int64_t count = std::min(end - begin, pieces.run_ends[p] - at);
      const char* from = static_cast<const char*>(input(args, piece).data) + outer * length + (at - first);
      if (streams) {
        stream_copy(to + begin, from, count);
      } else {
        std::memcpy(to + begin, from, static_cast<std::size_t>(count));
      }
      begin += count;
      at += count;
      while (piece < args.input_count && at >= pieces.run_ends[static_cast<std::size_t>(piece)]) ++piece;
      if (piece == args.input_count) {
        piece = 0;
        at = 0;
        ++outer;
        while (pieces.run_ends[static_cast<std::size_t>(piece)] == 0) ++piece;
      }
    }
    if (streams) stream_fence();
  });
}

void run_cat_pieces(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto axis = static_cast<int>(args.scalars[0].as_int);
  auto* to = static_cast<char*>(dst.data);
  for (int i = 0; i < args.input_count; ++i) {
    const Operand& src = input(args, i);
    Operand part = dst;
    part.data = to;
    part.sizes = src.sizes;
    part.is_row_major = 0;
    copy_on_threads(part, src);
    to += src.sizes[axis] * dst.strides[axis] * width_of(dst);
  }
}

// Copies a dense run backwards: `from` is its last element. Reverses 32 bytes at once; one element at a time
// takes twice as long from L2.
template <class V>
PEL_LANES_INLINE V reversed(V v) {
  constexpr std::size_t kCount = sizeof(V) / sizeof(v[0]);
  return [&]<std::size_t... kLane>(std::index_sequence<kLane...>) PEL_LANES_LAMBDA {
    return __builtin_shufflevector(v, v, (kCount - 1 - kLane)...);
  }(std::make_index_sequence<kCount>());
}

template <std::int64_t Width>
PEL_LANES void copy_backwards(char* to, const char* from, std::int64_t count) {
  constexpr int kLanes = 32 / Width;
  using V = Lanes<UnsignedOf<Width>, kLanes>;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(to + i * Width, reversed(load<V>(from - (i + kLanes - 1) * Width)));
  for (; i < count; ++i) std::memcpy(to + i * Width, from - i * Width, static_cast<std::size_t>(Width));
}

// The same through a block in L1, followed by non-temporal stores.
template <std::int64_t Width>
void stream_backwards(char* to, const char* from, std::int64_t count) {
  constexpr std::int64_t kBlockBytes = 4096, kBlock = kBlockBytes / Width;
  alignas(64) char block[kBlockBytes];
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t part = std::min(kBlock, count - i);
    copy_backwards<Width>(block, from - i * Width, part);
    stream_copy(to + i * Width, block, part * Width);
  }
}

template <std::int64_t Width, bool Streams>
void flip_run(char* to, const char* from, const LoopAxis& axis) {
  if (axis.dst_step == Width && axis.src_step == -Width) {
    return Streams ? stream_backwards<Width>(to, from, axis.size)
                   : copy_backwards<Width>(to, from, axis.size);
  }
  if (axis.dst_step == Width && axis.src_step == Width) {
    if (Streams) return stream_copy(to, from, axis.size * Width);
    std::memcpy(to, from, static_cast<std::size_t>(axis.size * Width));
    return;
  }
  for (std::int64_t i = 0; i < axis.size; ++i)
    std::memcpy(to + i * axis.dst_step, from + i * axis.src_step, static_cast<std::size_t>(Width));
}
template <bool Streams>
void flip_elements(const Operand& dst, const Operand& src) {
  switch (width_of(dst)) {
    case 1:
      for_each_run(dst, src, loop_axes(dst, src), flip_run<1, Streams>);
      break;
    case 2:
      for_each_run(dst, src, loop_axes(dst, src), flip_run<2, Streams>);
      break;
    case 4:
      for_each_run(dst, src, loop_axes(dst, src), flip_run<4, Streams>);
      break;
    default:
      for_each_run(dst, src, loop_axes(dst, src), flip_run<8, Streams>);
  }
  if constexpr (Streams) stream_fence();
}

// flip. Operands: dst; src; scalars: 1 for each axis that is reversed, 0 for the others.
void run_flip(Stream&, const KernelArgs& args) {
  Operand src = input(args, 0);
  Sizes strides = copy_of(src.strides, src.rank);
  auto* from = static_cast<char*>(src.data);
  for (int i = 0; i < src.rank; ++i) {
    if (args.scalars[i].as_int == 0) continue;
    from += (src.sizes[i] - 1) * src.strides[i] * width_of(src);
    strides[static_cast<std::size_t>(i)] = -src.strides[i];
  }
  src.data = from;
  src.strides = strides.data();
  src.is_row_major = 0;
  const bool streams = product(src.sizes, 0, src.rank) * width_of(src) >= kStreamBytes;
  copy_on_threads(output(args, 0), src, streams ? flip_elements<true> : flip_elements<false>);
}

// roll. Operands: dst; src; scalars: the shift of each axis, from 0 to below its size. A shifted axis splits
// into two parts.
void roll_from_axis(const Operand& dst, const Operand& src, const PelScalar* shifts, int axis) {
  while (axis < dst.rank && shifts[axis].as_int == 0) ++axis;
  if (axis >= dst.rank) return copy_on_threads(dst, src);
  const std::int64_t shift = shifts[axis].as_int, size = dst.sizes[axis];
  const auto part = [&](std::int64_t to, std::int64_t from, std::int64_t length) {
    Sizes sizes = copy_of(dst.sizes, dst.rank);
    sizes[static_cast<std::size_t>(axis)] = length;
    Operand part_dst = dst, part_src = src;
    part_dst.data = static_cast<char*>(dst.data) + to * dst.strides[axis] * width_of(dst);
    part_src.data = static_cast<char*>(src.data) + from * src.strides[axis] * width_of(src);
    part_dst.sizes = part_src.sizes = sizes.data();
    part_dst.is_row_major = part_src.is_row_major = 0;
    roll_from_axis(part_dst, part_src, shifts, axis + 1);
  };
  part(shift, 0, size - shift);
  part(0, size - shift, shift);
}
void run_roll(Stream&, const KernelArgs& args) {
  roll_from_axis(output(args, 0), input(args, 0), args.scalars, 0);
}

// tril, triu. Operands: dst; src; scalars: the diagonal, whether the part above it is copied. dst may be src.
template <std::size_t Width>
void copy_triangle_row(char* to, const char* from, std::int64_t begin, std::int64_t end, std::int64_t size,
                       std::int64_t to_step, std::int64_t from_step) {
  constexpr char kZero[Width] = {};
  const auto clear = [&](std::int64_t first, std::int64_t last) {
    if (to_step == Width) {
      std::memset(to + first * to_step, 0, static_cast<std::size_t>(last - first) * Width);
    } else {
      for (std::int64_t i = first; i < last; ++i) std::memcpy(to + i * to_step, kZero, Width);
    }
  };
  clear(0, begin);
  if (to != from) {
    if (to_step == Width && from_step == Width) {
      std::memcpy(to + begin * to_step, from + begin * from_step,
                  static_cast<std::size_t>(end - begin) * Width);
    } else {
      for (std::int64_t i = begin; i < end; ++i) std::memcpy(to + i * to_step, from + i * from_step, Width);
    }
  }
  clear(end, size);
}

void run_triangle(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  const std::int64_t diagonal = args.scalars[0].as_int;
  const bool upper = args.scalars[1].as_int != 0;
  const int rank = dst.rank;
  const std::int64_t rows = dst.sizes[rank - 2], columns = dst.sizes[rank - 1], width = width_of(dst);
  const auto copy_row = width == 1   ? copy_triangle_row<1>
                        : width == 2 ? copy_triangle_row<2>
                        : width == 4 ? copy_triangle_row<4>
                                     : copy_triangle_row<8>;
  const std::int64_t all_rows = product(dst.sizes, 0, rank - 1);
  parallel_for(all_rows, Grain::of(kCopyGrainBytes, columns * width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   std::int64_t to = 0, from = 0, left = r;
                   for (int i = rank - 1; i-- > 0;) {
                     to += left % dst.sizes[i] * dst.strides[i];
                     from += left % dst.sizes[i] * src.strides[i];
                     left /= dst.sizes[i];
                   }
                   // The first column above the diagonal in this row; the difference cannot overflow.
                   const std::int64_t row = r % rows + (upper ? 0 : 1);
                   const std::int64_t border = std::clamp<std::int64_t>(
                       std::clamp<std::int64_t>(diagonal, -rows - 1, columns + 1) + row, 0, columns);
                   copy_row(static_cast<char*>(dst.data) + to * width,
                            static_cast<const char*>(src.data) + from * width, upper ? border : 0,
                            upper ? columns : border, columns, dst.strides[rank - 1] * width,
                            src.strides[rank - 1] * width);
                 }
               });
}

}  // namespace

KernelLists move_kernels() {
  static const auto kCat = std::to_array<Kernel>(
      {{"cpu_cat_runs", cat_in_runs, run_cat_runs}, {"cpu_cat_strided", supports_any, run_cat_pieces}});
  static const auto kFlip = std::to_array<Kernel>({{"cpu_flip", supports_any, run_flip}});
  static const auto kRoll = std::to_array<Kernel>({{"cpu_roll", supports_any, run_roll}});
  static const auto kTriangle = std::to_array<Kernel>({{"cpu_triangle", supports_any, run_triangle}});
  static const auto kLists = std::to_array<BackendKernels>(
      {{"cat", kCat}, {"flip", kFlip}, {"roll", kRoll}, {"tril", kTriangle}, {"triu", kTriangle}});
  return kLists;
}

}  // namespace pel::cpu

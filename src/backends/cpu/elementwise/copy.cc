// Copies: one run of bytes, strided elements of one width, or elements with a dtype conversion.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/elementwise/strided_loop.h"
#include "backends/cpu/gemm/avx512_transpose.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/lanes.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

Support same_dtype(const KernelArgs& args) {
  return output(args, 0).dtype == input(args, 0).dtype ? Support::yes() : Support::no("the dtypes differ");
}

Support supports_dense(const KernelArgs& args) {
  if (Support s = same_dtype(args); !s) return s;
  const bool both = is_row_major(output(args, 0)) && is_row_major(input(args, 0));
  return both ? Support::yes() : Support::no("source and destination are not both row-major");
}

void run_dense(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  std::int64_t bytes = width_of(dst);
  for (int i = 0; i < dst.rank; ++i) bytes *= dst.sizes[i];
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    std::memmove(static_cast<char*>(dst.data) + begin, static_cast<const char*>(src.data) + begin,
                 static_cast<std::size_t>(end - begin));  // dst may be src itself
  };
  if (bytes < 2 * kCopyGrainBytes) return copy(0, bytes);
  parallel_for(bytes, kCopyGrainBytes, copy);
}

template <std::size_t Width>
void copy_run(char* to, const char* from, const LoopAxis& axis) {
  const std::int64_t size = axis.size, dst_step = axis.dst_step, src_step = axis.src_step;
  if (dst_step == Width && src_step == Width) {
    std::memmove(to, from, static_cast<std::size_t>(size) * Width);
    return;
  }
  if (dst_step == Width && src_step == 0) {
    std::array<char, Width> element;
    std::memcpy(element.data(), from, Width);
    if (std::count(element.begin(), element.end(), element[0]) == Width) {
      std::memset(to, element[0], static_cast<std::size_t>(size) * Width);
      return;
    }
    for (std::int64_t i = 0; i < size; ++i) std::memcpy(to + i * std::int64_t{Width}, element.data(), Width);
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) std::memcpy(to + i * dst_step, from + i * src_step, Width);
}

template <std::size_t Width>
using Elements = Lanes<UnsignedOf<Width>, 16 / int{Width}>;

// Interleaves the low (0) or the high (1) halves of two vectors.
template <int kHalf, class V>
V interleaved(V a, V b) {
  constexpr std::size_t kCount = sizeof(V) / sizeof(a[0]);
  return [&]<std::size_t... kLane>(std::index_sequence<kLane...>) {
    return __builtin_shufflevector(a, b, (kHalf * kCount / 2 + kLane / 2 + kLane % 2 * kCount)...);
  }(std::make_index_sequence<kCount>());
}

constexpr std::size_t kLine = 64, kVector = 16;
// A square of elements, each row one cache line.
template <std::size_t Width>
using Tile = std::array<std::array<char, kLine>, kLine / Width>;

// Transposes a square as wide as a vector: each round interleaves rows i and i + half.
template <std::size_t Width>
void transpose_square(const Tile<Width>& from, std::size_t row, std::size_t column, Tile<Width>& to) {
  constexpr std::size_t kSide = kVector / Width;
  Elements<Width> rows[kSide], next[kSide];
  for (std::size_t i = 0; i < kSide; ++i)
    rows[i] = load<Elements<Width>>(from[row + i].data() + column * Width);
  for (std::size_t round = 1; round < kSide; round *= 2) {
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleaved<0>(rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = interleaved<1>(rows[i], rows[i + kSide / 2]);
    }
    std::copy(next, next + kSide, rows);
  }
  for (std::size_t i = 0; i < kSide; ++i) store(to[column + i].data() + row * Width, rows[i]);
}

// Transposes a matrix with dense columns into one with dense rows. Tiles go through registers or buffers of
// full cache lines: rows that are 4 KB apart would all map to one set of the cache.
template <std::size_t Width>
void transpose(char* to, const char* from, const LoopAxis& rows, const LoopAxis& columns) {
  constexpr std::size_t kSide = kVector / Width, kTile = kLine / Width;
  constexpr auto kStep = static_cast<std::int64_t>(kTile), kWidth = static_cast<std::int64_t>(Width);
  const auto copy_line = [](char* dst, const char* src, std::size_t bytes) {
    bytes == kLine ? std::memcpy(dst, src, kLine) : std::memcpy(dst, src, bytes);  // NOLINT: constant length
  };
  const bool is_wide = active_isa() == codegen::Isa::Avx512;
  Tile<Width> tile{}, transposed;
  const auto copy_tile = [&](std::int64_t i, std::int64_t j) {
    const auto n = static_cast<std::size_t>(std::min(kStep, columns.size - j));
    const auto m = static_cast<std::size_t>(std::min(kStep, rows.size - i));
    const char* corner = from + i * rows.src_step + j * kWidth;
    char* line = to + j * columns.dst_step + i * kWidth;
    if (Width == 4 && is_wide && m == kTile && n == kTile) {
      // The rows of the next tile are too far apart for the processor to fetch them in time. It saves about a
      // quarter of the time for four matrices of 96 by 3136.
      for (std::int64_t r = i + kStep; r < std::min(rows.size, i + 2 * kStep); ++r)
        __builtin_prefetch(from + r * rows.src_step + j * kWidth);
      transpose_wide_square(line, columns.dst_step, corner, rows.src_step);
      return;
    }
    if (Width == 2 && is_wide) {
      transpose_to_lines(transposed[0].data(), kTile, corner, rows.src_step, static_cast<std::int64_t>(n),
                         static_cast<std::int64_t>(m));
    } else {
      for (std::size_t r = 0; r < m; ++r, corner += rows.src_step)
        copy_line(tile[r].data(), corner, n * Width);
      for (std::size_t r = 0; r < kTile; r += kSide) {
        for (std::size_t c = 0; c < kTile; c += kSide) transpose_square<Width>(tile, r, c, transposed);
      }
    }
    for (std::size_t c = 0; c < n; ++c, line += columns.dst_step)
      copy_line(line, transposed[c].data(), m * Width);
  };
  // Several tiles of the same rows: what is adjacent in memory is read together.
  constexpr std::int64_t kTogether = 4 * kStep;
  for (std::int64_t j = 0; j < columns.size; j += kTogether) {
    const std::int64_t end = std::min(columns.size, j + kTogether);
    for (std::int64_t i = 0; i < rows.size; i += kStep) {
      for (std::int64_t column = j; column < end; column += kStep) copy_tile(i, column);
    }
  }
}

template <std::size_t Width>
void copy_axes(const Operand& dst, const Operand& src) {
  LoopAxes axes = loop_axes(dst, src);
  constexpr std::int64_t kMinSide = 8;  // rows and columns: a tile does not pay off for fewer
  std::size_t dense = 1;
  while (dense < axes.size() && axes[dense].src_step != Width) ++dense;
  if (dense >= axes.size() || axes[0].dst_step != Width || axes[0].src_step == Width ||
      axes[0].src_step == 0 || axes[0].size < kMinSide || axes[dense].size < kMinSide)
    return for_each_run(dst, src, axes, copy_run<Width>);
  const LoopAxis columns = axes[dense];
  axes.erase(dense);
  for_each_run(dst, src, axes, [&](char* to, const char* from, const LoopAxis& rows) {
    transpose<Width>(to, from, rows, columns);
  });
}

void run_strided(Stream&, const KernelArgs& args) { copy_on_threads(output(args, 0), input(args, 0)); }

// Rounds like BFloat16(float); the upper 16 bits are shifted down arithmetically.
I32x4 rounded_to_bf16(Lanes<std::uint32_t, 4> bits) {
  const auto rounded = bits + (((bits >> 16) & 1u) + 0x7fffu), quiet = bits | 0x400000u;
  const I32x4 is_nan = reinterpret_cast<I32x4>(bits & 0x7fffffffu) > 0x7f800000;
  return reinterpret_cast<I32x4>(is_nan ? quiet : rounded) >> 16;
}

// Converts the elements of a dense run that fill whole vectors. Returns how many.
template <class To, class From>
std::int64_t cast_vectors(char* to, const char* from, std::int64_t size) {
  using Words = Lanes<std::uint32_t, 4>;
  using Halves = Lanes<std::uint16_t, 8>;
  constexpr std::int64_t kEach = 8, kHalf = kVector;  // bytes of four f32
  const std::int64_t count = size / kEach * kEach;
  for (std::int64_t i = 0; i < count; i += kEach) {
    if constexpr (std::is_same_v<To, BFloat16>) {
      const char* four = from + i * std::int64_t{sizeof(float)};
      store(to + i * std::int64_t{sizeof(BFloat16)},
            narrowed(rounded_to_bf16(load<Words>(four)), rounded_to_bf16(load<Words>(four + kHalf))));
    } else {
      const auto eight = load<Halves>(from + i * std::int64_t{sizeof(BFloat16)});
      char* four = to + i * std::int64_t{sizeof(float)};
      store(four, interleaved<0>(Halves{}, eight));
      store(four + kHalf, interleaved<1>(Halves{}, eight));
    }
  }
  return count;
}

template <class To, class From>
void cast_run(char* to, const char* from, const LoopAxis& axis) {
  constexpr bool kHasVectors = (std::is_same_v<To, BFloat16> && std::is_same_v<From, float>) ||
                               (std::is_same_v<To, float> && std::is_same_v<From, BFloat16>);
  std::int64_t i = 0;
  if constexpr (kHasVectors) {
    if (axis.dst_step == sizeof(To) && axis.src_step == sizeof(From))
      i = cast_vectors<To, From>(to, from, axis.size);
  }
  for (; i < axis.size; ++i)
    store_as(to + i * axis.dst_step, convert<To>(load_as<From>(from + i * axis.src_step)));
}
template <class To, class From>
void cast_elements(const Operand& dst, const Operand& src) {
  for_each_run(dst, src, loop_axes(dst, src), cast_run<To, From>);
}

void run_cast(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class To>(std::type_identity<To>) {
    with_type(static_cast<DType>(src.dtype), [&]<class From>(std::type_identity<From>) {
      copy_on_threads(dst, src, cast_elements<To, From>);
    });
  });
}

}  // namespace

void copy_elements(const Operand& dst, const Operand& src) {
  switch (width_of(dst)) {
    case 1:
      return copy_axes<1>(dst, src);
    case 2:
      return copy_axes<2>(dst, src);
    case 4:
      return copy_axes<4>(dst, src);
    default:
      return copy_axes<8>(dst, src);
  }
}

// Divides the outermost axis, which preserves runs and tiles, or the longest one in units of whole tiles.
void copy_on_threads(const Operand& dst, const Operand& src, CopyFn copy) {
  constexpr std::int64_t kEnough = 16, kUnit = 64;  // parts for threads; elements
  const std::int64_t dst_width = width_of(dst), src_width = width_of(src);
  std::int64_t bytes = std::max(dst_width, src_width);
  for (int i = 0; i < dst.rank; ++i) bytes *= dst.sizes[i];
  if (bytes == 0) return;
  if (bytes < 2 * kCopyGrainBytes) return copy(dst, src);
  const LoopAxes axes = loop_axes(dst, src);
  std::size_t divided = axes.size() - 1;
  for (std::size_t i = 0; i < axes.size() && axes.back().size < kEnough; ++i)
    divided = axes[i].size > axes[divided].size ? i : divided;
  const std::int64_t size = axes[divided].size, unit = size >= kEnough * kUnit ? kUnit : 1;
  const std::int64_t parts = (size + unit - 1) / unit, each = std::max<std::int64_t>(1, bytes / size * unit);
  parallel_for(parts, Grain::of(kCopyGrainBytes, each), [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * unit, end = std::min(size, last * unit);
    SmallVector<std::int64_t, 8> sizes, dst_strides, src_strides;  // outermost first
    for (std::size_t i = axes.size(); i-- > 0;) {
      sizes.push_back(i == divided ? end - begin : axes[i].size);
      dst_strides.push_back(axes[i].dst_step / dst_width);
      src_strides.push_back(axes[i].src_step / src_width);
    }
    Operand to = dst, from = src;
    to.data = static_cast<char*>(dst.data) + begin * axes[divided].dst_step;
    from.data = static_cast<char*>(src.data) + begin * axes[divided].src_step;
    to.rank = from.rank = static_cast<std::int32_t>(axes.size());
    to.sizes = from.sizes = sizes.data();
    to.strides = dst_strides.data();
    from.strides = src_strides.data();
    to.is_row_major = from.is_row_major = 0;
    copy(to, from);
  });
}

KernelLists copy_kernels() {
  static const auto kCopy = std::to_array<Kernel>({{"cpu_copy_dense", supports_dense, run_dense},
                                                   {"cpu_copy_strided", same_dtype, run_strided},
                                                   {"cpu_copy_cast", supports_any, run_cast}});
  static const auto kLists = std::to_array<BackendKernels>({{"copy_", kCopy}});
  return kLists;
}

}  // namespace pel::cpu

// Scans along one axis, sequentially from the first element to the last, whatever the layout. Rows are
// independent: several advance together, so that no addition waits for the previous one.
//
// Parts: the operations (Sum, Product, LogSumExp), vector versions for f32 (advance_vectors,
// advance_squares), scan_across for adjacent rows, scan_along for contiguous rows, scan, which chooses, and
// scan_extremes for cummax and cummin.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/random/random_values.h"
#include "backends/cpu/sorting/axis_rows.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kChains = 8;  // rows that advance together: enough to hide the latency of an addition
constexpr std::int64_t kPiece = 64;  // elements per row and step
constexpr std::int64_t kAcross = 1024;  // rows with adjacent elements: a page of f32

// f32 accumulates in f64, as in PyTorch; integers wrap.
template <class T>
using Accumulator =
    std::conditional_t<kIsHalf<T>, float, std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>>;

template <class T>
Accumulator<T> widened(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<Accumulator<T>>(value);
  }
}
template <class T>
T narrowed(Accumulator<T> value) {
  return static_cast<T>(value);
}

struct Sum {
  template <class A>
  static constexpr A kInitial = A(0);
  template <class A>
  A operator()(A total, A x) const {
    return total + x;
  }
};
struct Product {
  template <class A>
  static constexpr A kInitial = A(1);
  template <class A>
  A operator()(A total, A x) const {
    return total * x;
  }
};

// 1/k!, and 1/(2k + 1), separately for even and odd k: two short chains of multiplications finish before a
// long one.
template <std::size_t N>
struct Coefficients {
  std::array<double, N> even, odd;
};
constexpr Coefficients<7> kExp = [] {
  Coefficients<7> c{};
  double inverse = 1;
  for (std::size_t k = 0; k < 14; inverse /= static_cast<double>(++k))
    (k % 2 == 0 ? c.even : c.odd)[k / 2] = inverse;
  return c;
}();
constexpr Coefficients<9> kAtanh = [] {
  Coefficients<9> c{};
  for (std::size_t k = 0; k < 18; ++k)
    (k % 2 == 0 ? c.even : c.odd)[k / 2] = 1 / static_cast<double>(2 * k + 1);
  return c;
}();

template <std::size_t N>
double polynomial(double x, const Coefficients<N>& c) {
  const double x2 = x * x;
  return horner(x2, c.even) + x * horner(x2, c.odd);
}

// log(1 + e^-d) for 0 <= d < 700. Implemented here, because the bits of the C library's functions depend on
// the processor.
double log1p_of_exp(double d) {
  // e^-d = 2^-k e^r with |r| <= ln 2 / 2; ln 2 in two parts, the first with trailing zero bits.
  const double k = std::floor(d * 0x1.71547652b82fep0 + 0.5);
  const double r = (k * 0x1.62e42feep-1 - d) + k * 0x1.a39ef35793c76p-33;
  const auto scale =
      std::bit_cast<double>(static_cast<std::uint64_t>(1023 - static_cast<std::int64_t>(k)) << 52);
  const double u = polynomial(r, kExp) * scale;
  const double s = u / (2 + u);  // log(1 + u) = 2 atanh(s), and s is at most 1/3
  return 2 * s * polynomial(s * s, kAtanh);
}

struct LogSumExp {
  template <class A>
  static constexpr A kInitial = -std::numeric_limits<A>::infinity();
  template <class A>
  A operator()(A total, A x) const {
    if (total != total || x != x) return total + x;
    const double low = std::min<double>(total, x), high = std::max<double>(total, x);
    if (high - low < 700) return static_cast<A>(high + log1p_of_exp(high - low));
    return static_cast<A>(high);  // also for two equal infinities, whose difference is NaN
  }
};

template <class T>
constexpr bool kHasVectors = std::is_same_v<T, float>;  // f32, accumulated in f64 four at a time
constexpr std::int64_t kF32Bytes = sizeof(float);

template <class Combine>
PEL_LANES_INLINE F64x4 combined(F64x4 totals, F32x4 x) {
  const F64x4 wide = __builtin_convertvector(x, F64x4);
  return std::is_same_v<Combine, Sum> ? totals + wide : totals * wide;
}

// Processes the next element of `count` rows that are adjacent in memory. Returns how many rows it processed.
template <class Combine>
PEL_LANES std::int64_t advance_vectors(char* to, const char* from, double* totals, std::int64_t count) {
  std::int64_t l = 0;
  for (; l + 4 <= count; l += 4) {
    const F64x4 sum = combined<Combine>(load<F64x4>(totals + l), load<F32x4>(from + l * kF32Bytes));
    store(totals + l, sum);
    store(to + l * kF32Bytes, __builtin_convertvector(sum, F32x4));
  }
  return l;
}

PEL_LANES_INLINE void transpose_square(F32x4 (&rows)[4]) {
  const F32x4 a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
              b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5),
              c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7),
              d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// Processes eight rows of contiguous elements together: 4x4 squares are transposed on load and store.
constexpr std::int64_t kSquares = kChains / 4;
template <class Combine>
PEL_LANES std::int64_t advance_squares(char* to, std::int64_t to_next, const char* from,
                                       std::int64_t from_next, double* totals, std::int64_t count) {
  F64x4 sums[kSquares];
  for (std::int64_t s = 0; s < kSquares; ++s) sums[s] = load<F64x4>(totals + 4 * s);
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::int64_t s = 0; s < kSquares; ++s) {
      F32x4 square[4];
      for (int r = 0; r < 4; ++r) square[r] = load<F32x4>(from + (4 * s + r) * from_next + i * kF32Bytes);
      transpose_square(square);
      for (F32x4& column : square) {
        sums[s] = combined<Combine>(sums[s], column);
        column = __builtin_convertvector(sums[s], F32x4);
      }
      transpose_square(square);
      for (int r = 0; r < 4; ++r) store(to + (4 * s + r) * to_next + i * kF32Bytes, square[r]);
    }
  }
  for (std::int64_t s = 0; s < kSquares; ++s) store(totals + 4 * s, sums[s]);
  return i;
}

bool use_vectors() {
  static const bool has = best_isa().has_value();
  return has;
}

template <class T, class Combine>
void scan_across(const AxisRows& rows, char* to, const char* from, std::int64_t count) {
  using A = Accumulator<T>;
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t n = rows.length(0), to_step = rows.step(0), from_step = rows.step(1);
  A totals[kAcross];
  std::fill_n(totals, count, Combine::template kInitial<A>);
  for (std::int64_t i = 0; i < n; ++i) {
    char* dst = to + i * to_step;
    const char* src = from + i * from_step;
    std::int64_t l = 0;
    if constexpr (kHasVectors<T> && !std::is_same_v<Combine, LogSumExp>) {
      if (use_vectors()) l = advance_vectors<Combine>(dst, src, totals, count);
    }
    for (; l < count; ++l) {
      totals[l] = Combine()(totals[l], widened(load_as<T>(src + l * kWidth)));
      store_as(dst + l * kWidth, narrowed<T>(totals[l]));
    }
  }
}

template <class T, class Combine, std::int64_t Rows>
void scan_along(const AxisRows& rows, char* to, const char* from, bool streams = false) {
  using A = Accumulator<T>;
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t n = rows.length(0), to_step = rows.step(0), from_step = rows.step(1);
  const std::int64_t to_next = rows.to_next_row(0), from_next = rows.to_next_row(1);
  A totals[Rows];
  std::fill_n(totals, Rows, Combine::template kInitial<A>);
  std::int64_t i = 0;
  if constexpr (kHasVectors<T> && Rows == kChains && !std::is_same_v<Combine, LogSumExp>) {
    if (to_step == kWidth && from_step == kWidth && use_vectors()) {
      // In pieces, so that a large result can use non-temporal stores, line by line.
      alignas(64) float block[Rows][kPiece];
      for (; i + kPiece <= n; i += kPiece) {
        for (std::int64_t r = 0; r < Rows; ++r)
          fetch(from + r * from_next + (i + kPiece) * kWidth, kPiece * kWidth);
        const char* src = from + i * kWidth;
        if (!streams) {
          advance_squares<Combine>(to + i * kWidth, to_next, src, from_next, totals, kPiece);
          continue;
        }
        advance_squares<Combine>(reinterpret_cast<char*>(block), kPiece * kWidth, src, from_next, totals,
                                 kPiece);
        for (std::int64_t r = 0; r < Rows; ++r)
          stream_copy(to + r * to_next + i * kWidth, reinterpret_cast<char*>(block[r]), kPiece * kWidth);
      }
      i += advance_squares<Combine>(to + i * kWidth, to_next, from + i * kWidth, from_next, totals, n - i);
    }
  }
  for (; i < n; ++i) {
    for (std::int64_t r = 0; r < Rows; ++r) {
      totals[r] = Combine()(totals[r], widened(load_as<T>(from + r * from_next + i * from_step)));
      store_as(to + r * to_next + i * to_step, narrowed<T>(totals[r]));
    }
  }
}

template <class T, class Combine>
void scan(const KernelArgs& args) {
  const AxisRows rows(args, args.scalars[0].as_int);
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  const bool across = rows.to_next_row(0) == kWidth && rows.to_next_row(1) == kWidth;
  const std::int64_t group_size = across ? kAcross : kChains;
  const std::int64_t group_elements =
      std::max<std::int64_t>(1, rows.length(0)) * std::min(group_size, rows.inner());
  const bool streams = rows.count() * rows.length(0) * kWidth >= kStreamBytes &&
                       args.operands[0].data != args.operands[1].data;
  parallel_for(
      rows.group_count(group_size), Grain::of(kGrainElements, group_elements),
      [&](std::int64_t begin, std::int64_t end) {
        const DefaultFloatMode mode;
        for (std::int64_t g = begin; g < end; ++g) {
          const AxisRows::Group group = rows.group(g, group_size);
          if (across) {
            scan_across<T, Combine>(rows, rows.row(0, group.first), rows.row(1, group.first), group.count);
          } else if (group.count == kChains) {
            scan_along<T, Combine, kChains>(rows, rows.row(0, group.first), rows.row(1, group.first),
                                            streams);
          } else {
            for (std::int64_t r = 0; r < group.count; ++r)
              scan_along<T, Combine, 1>(rows, rows.row(0, group.first + r), rows.row(1, group.first + r));
          }
        }
        stream_fence();
      });
}

template <class Combine>
void run_scan(Stream&, const KernelArgs& args) {
  with_type(static_cast<DType>(input(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool> && (!std::is_same_v<Combine, LogSumExp> || !std::is_integral_v<T>))
      scan<T, Combine>(args);
  });
}

// Writes the running max or min and its index; the last of equal elements, the last of NaNs.
template <class T, bool IsMax>
void scan_extremes(const AxisRows& rows, std::int64_t row) {
  const std::int64_t n = rows.length(0);
  char *values = rows.row(0, row), *indices = rows.row(1, row);
  const char* from = rows.row(2, row);
  using Compared = std::conditional_t<kIsHalf<T>, float, T>;
  T best = load_as<T>(from);
  auto best_compared = static_cast<Compared>(best);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = load_as<T>(from + i * rows.step(2));
    const auto compared = static_cast<Compared>(x);
    const bool wins = IsMax ? compared >= best_compared : compared <= best_compared;
    if (compared != compared || (best_compared == best_compared && wins)) {
      best = x;
      best_compared = compared;
      at = i;
    }
    store_as(values + i * rows.step(0), best);
    store_as(indices + i * rows.step(1), at);
  }
}

template <bool IsMax>
void run_extremes(Stream&, const KernelArgs& args) {
  const AxisRows rows(args, args.scalars[0].as_int);
  with_type(static_cast<DType>(input(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    const std::int64_t length = std::max<std::int64_t>(1, rows.length(0));
    parallel_for(rows.count(), Grain::of(kGrainElements, length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) scan_extremes<T, IsMax>(rows, r);
    });
  });
}

}  // namespace

KernelLists scan_kernels() {
  static const auto kSum = std::to_array<Kernel>({{"cpu_scan_sum", supports_any, run_scan<Sum>}});
  static const auto kProduct = std::to_array<Kernel>({{"cpu_scan_product", supports_any, run_scan<Product>}});
  static const auto kLogSumExp =
      std::to_array<Kernel>({{"cpu_scan_log_sum_exp", supports_any, run_scan<LogSumExp>}});
  static const auto kMax = std::to_array<Kernel>({{"cpu_scan_max", supports_any, run_extremes<true>}});
  static const auto kMin = std::to_array<Kernel>({{"cpu_scan_min", supports_any, run_extremes<false>}});
  static const auto kLists = std::to_array<BackendKernels>({{"cumsum", kSum},
                                                            {"cumprod", kProduct},
                                                            {"logcumsumexp", kLogSumExp},
                                                            {"cummax", kMax},
                                                            {"cummin", kMin}});
  return kLists;
}

}  // namespace pel::cpu

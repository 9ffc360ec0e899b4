// The GEMM kernels, in the order of their list: element by element for tiny calls, our own tiles, and oneDNN.
// In this file: the description of a call (GemmCall), the tiny kernel, the tile kernel with its packed
// weights, the kernels' names, the list, and the kernel of grouped_mm, which runs one of the list for each
// group. The tiles themselves are in gemm_tiles.cc, oneDNN in onednn/.
#include "backends/cpu/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "pellucid/determinism.h"

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/gemm/fused_gemm.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/packed_gemm.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/onednn/gemm.h"
#include "base/check.h"
#include "dispatch/pointwise.h"
#include "packing/packing.h"
#include "tensor/convert.h"
#include "tensor/make.h"

namespace pel::cpu {

GemmCall::GemmCall(const KernelArgs& args)
    : adds(args.input_count == 3),
      dtype(static_cast<DType>(args.operands[0].dtype)),
      beta(args.scalars[0]),
      alpha(args.scalars[1]) {
  const Operand& first = output(args, 0);
  const int rows = first.rank - 2;
  if (rows > 0) batch = first.sizes[0];
  m = first.sizes[rows];
  n = first.sizes[rows + 1];
  k = input(args, 0).sizes[rows + 1];
  out = matrix_of(first);
  a = matrix_of(input(args, 0));
  b = matrix_of(input(args, 1));
  if (adds) added = matrix_of(input(args, 2));
}

double GemmCall::bytes() const {
  return static_cast<double>(batch) * static_cast<double>(m * k + k * n + m * n) *
         static_cast<double>(size_bytes(dtype));
}

std::string GemmCall::epilogue() const {
  std::string text;
  if (adds) text = added.row == 0 && m > 1 ? "_bias" : "_add";
  if (alpha.as_float != 1) text += "_alpha";
  if (adds && beta.as_float != 1) text += "_beta";
  return text;
}

std::string GemmCall::layout() const { return {b.order(k, n), a.order(m, k)}; }

std::string gemm_class(const KernelArgs& args) {
  const GemmCall c(args);
  const auto up = [](std::int64_t size) { return std::bit_ceil(static_cast<std::uint64_t>(size)); };
  return fmt::format("gemm_{}_{}_{}x{}x{}x{}{}", name(c.dtype), c.layout(), up(c.batch), up(c.m), up(c.n),
                     up(c.k), c.epilogue());
}

namespace {

constexpr double kTinyFlops = 4096;
constexpr std::int64_t kTinyElements = 512;

// One fused multiply-add after the other, as in the tiles.
template <class T>
struct Arithmetic {
  using Value = std::conditional_t<kIsHalf<T>, float, T>;
  __attribute__((target("fma"), always_inline)) static Value step(Value total, Value x, Value y) {
    if constexpr (std::is_same_v<T, bool>) {
      return total || (x && y);
    } else if constexpr (std::is_integral_v<T>) {
      using Bits = std::uint64_t;
      return static_cast<Value>(static_cast<Bits>(total) + static_cast<Bits>(x) * static_cast<Bits>(y));
    } else if constexpr (std::is_same_v<Value, float>) {
      return __builtin_fmaf(x, y, total);
    } else {
      return __builtin_fma(x, y, total);
    }
  }
  __attribute__((target("fma"), always_inline)) static Value finish(Value total, Value added,
                                                                    const GemmCall& c) {
    if constexpr (std::is_same_v<T, bool>) {
      return (total && c.alpha.as_int != 0) || (c.adds && added && c.beta.as_int != 0);
    } else if constexpr (std::is_integral_v<T>) {
      using Bits = std::uint64_t;
      const Bits scaled = static_cast<Bits>(total) * static_cast<Bits>(c.alpha.as_int);
      return static_cast<Value>(scaled + static_cast<Bits>(added) * static_cast<Bits>(c.beta.as_int));
    } else {
      const auto alpha = static_cast<Value>(c.alpha.as_float), beta = static_cast<Value>(c.beta.as_float);
      if constexpr (std::is_same_v<Value, float>) {
        return __builtin_fmaf(alpha, total, beta * added);
      } else {
        return __builtin_fma(alpha, total, beta * added);
      }
    }
  }
};

template <class T>
using TinyValue = typename Arithmetic<T>::Value;

// Products are added in the order of the tiles (gemm_tiles.h).
template <class T>
__attribute__((target("fma"), noinline)) void sum_tiny(const GemmCall& c, TinyValue<T>* totals) {
  using Value = TinyValue<T>;
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const char* x = c.a.data + (b * c.a.batch + i * c.a.row) * kWidth;
        const char* y = c.b.data + (b * c.b.batch + j * c.b.column) * kWidth;
        const auto next = [&](Value sum) __attribute__((target("fma"))) {
          sum =
              Arithmetic<T>::step(sum, static_cast<Value>(load_as<T>(x)), static_cast<Value>(load_as<T>(y)));
          x += c.a.column * kWidth;
          y += c.b.row * kWidth;
          return sum;
        };
        Value total = 0;
        if constexpr (std::is_same_v<T, BFloat16>) {
          for (std::int64_t l = 0; l < c.k; l += codegen::kPairDepth) {
            const std::int64_t end = std::min(c.k - l, codegen::kPairDepth);
            Value chains[2] = {};
            for (std::int64_t k = 0; k < end; ++k) chains[k % 2] = next(chains[k % 2]);
            // Depth is padded with zeros: a sum that was flushed to -0 becomes 0.
            for (std::int64_t k = end; k < codegen::kPairDepth; ++k) chains[k % 2] += Value(0);
            total += chains[0] + chains[1];
          }
        } else {
          for (std::int64_t l = 0; l < c.k; l += kChainDepth) {
            Value chain = 0;
            for (std::int64_t k = l; k < std::min(c.k, l + kChainDepth); ++k) chain = next(chain);
            if constexpr (std::is_same_v<T, bool>) {
              total = total || chain;
            } else {
              total = l == 0 ? chain : static_cast<Value>(total + chain);
            }
          }
        }
        *totals++ = total;
      }
    }
  }
}

template <class T>
__attribute__((target("fma"))) void multiply_tiny(const GemmCall& c) {
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  TinyValue<T> totals[kTinyElements];
  if constexpr (std::is_same_v<T, BFloat16>) {
    const FlushingFloatMode mode;
    sum_tiny<T>(c, totals);
  } else {
    sum_tiny<T>(c, totals);
  }
  const bool scales = c.adds || c.alpha.as_float != 1;
  const TinyValue<T>* total = totals;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j, ++total) {
        TinyValue<T> value = *total;
        if (scales) {
          const char* added =
              c.added.data + (b * c.added.batch + i * c.added.row + j * c.added.column) * kWidth;
          value = Arithmetic<T>::finish(
              value, c.adds ? static_cast<TinyValue<T>>(load_as<T>(added)) : TinyValue<T>(0), c);
        }
        store_as(c.out.data + (b * c.out.batch + i * c.out.row + j * c.out.column) * kWidth,
                 static_cast<T>(value));
      }
    }
  }
}

Support supports_tiny(const KernelArgs& args) {
  const GemmCall c(args);
  return c.flops() <= kTinyFlops && c.batch * c.m * c.n <= kTinyElements
             ? Support::yes()
             : Support::no("the call is too large for the element-by-element kernel");
}
double predict_tiny(const KernelArgs& args) {
  const GemmCall c(args);
  return 20 + 0.7 * c.flops() + 2.0 * static_cast<double>(c.batch * c.m * c.n);
}
void run_tiny(Stream&, const KernelArgs& args) {
  const GemmCall call(args);
  const DefaultFloatMode mode;
  with_type(call.dtype, [&]<class T>(std::type_identity<T>) { multiply_tiny<T>(call); });
}

Support supports_tiles(const KernelArgs&) { return Support::yes(); }

double predict_tiles(const KernelArgs& args) {
  // A call, then the slower of arithmetic and memory. The FLOP per nanosecond are those of large GEMMs on a
  // server core of 2023.
  const GemmCall c(args);
  const TileFamily& family = tiles_for(c.dtype);
  const bool wide = active_isa() == codegen::Isa::Avx512;
  const double rate = (family.is_amx() ? 1000
                       : wide          ? 160
                                       : 80) *
                      4.0 / static_cast<double>(size_bytes(family.type));
  constexpr double kCallNs = 400, kBytesPerNs = 20;
  return kCallNs + std::max(c.flops() / rate, c.bytes() / kBytesPerNs);
}

std::int64_t bytes_of_panels(const MatrixView& matrix, DType dtype) {
  return panels_bytes(tiles_for(dtype), matrix.k, matrix.n);
}
Tensor pack_for_tiles(const MatrixView& matrix, DType dtype) {
  const TileFamily& family = tiles_for(dtype);
  Tensor panels = make_dense({panels_bytes(family, matrix.k, matrix.n)}, kU8, kCpu);
  auto* const data = static_cast<char*>(const_cast<void*>(matrix.data));  // is only read
  const PackSource source{{data, 0, matrix.row, matrix.column}, dtype};
  pack_matrices(family, {&source, 1}, matrix.k, matrix.n, static_cast<char*>(panels.raw_data()));
  return panels;
}

TileGemm tiles_of(const GemmCall& c) {
  return {c.batch, c.m, c.n, c.k, c.dtype, c.a, c.b, c.out, c.dtype, {}, {}};
}

std::uint64_t scratch_of_tiles(const KernelArgs& args) { return kernel_scratch(tiles_of(GemmCall(args))); }

void run_gemm_tiles(Stream&, const KernelArgs& args) {
  const GemmCall c(args);
  TileGemm gemm = tiles_of(c);
  gemm.scratch = static_cast<char*>(args.scratch);
  const PelScalar scalars[2] = {c.beta, c.alpha};
  // If the call has only a factor, the epilogue adds a zero.
  std::uint64_t zero = 0;
  if (c.adds || c.alpha.as_float != 1) {
    gemm.epilogue.loop = gemm_finish_loop(c.dtype);
    gemm.epilogue.inputs.push_back(
        {c.adds ? c.added : Matrix{reinterpret_cast<char*>(&zero), 0, 0, 0}, c.dtype});
    gemm.epilogue.scalars = scalars;
  }
  run_packed_or_not(gemm);
}

std::string full_name(const GemmCall& c, std::string_view isa, const std::string& layout,
                      const std::string& tile) {
  return fmt::format("pellucid_{}_{}_{}_{}{}", isa, name(c.dtype), layout, tile, c.epilogue());
}
std::string describe_tiny(const KernelArgs& args) {
  const GemmCall c(args);
  return full_name(c, codegen::name(*active_isa()), c.layout(), "tiny");
}
std::string describe_tiles(const KernelArgs& args) {
  const GemmCall c(args);
  const TileFamily& family = tiles_for(c.dtype);
  std::string layout = c.layout();
  if (packed_form(tiles_of(c))) layout[0] = 'p';
  return full_name(c, isa_name(family), layout, fmt::format("{}x{}", family.rows, family.columns));
}

// The kernels of one GEMM.
const std::vector<Kernel>& single_kernels() {
  static const std::vector<Kernel> kList = [] {
    std::vector<Kernel> list;
    Kernel tiny{"cpu_gemm_tiny", supports_tiny, run_tiny};
    tiny.predict = predict_tiny;
    tiny.describe = describe_tiny;
    Kernel tiles{"cpu_gemm_tiles", supports_tiles, run_gemm_tiles};
    tiles.predict = predict_tiles;
    tiles.describe = describe_tiles;
    tiles.scratch_bytes = scratch_of_tiles;
    list.push_back(tiny);
    list.push_back(tiles);
    if (const std::optional<Kernel> engine = onednn::gemm_kernel()) list.push_back(*engine);
    for (Kernel& kernel : list) {
      kernel.shape_class = gemm_class;
      kernel.flops = [](const KernelArgs& args) {
        return static_cast<std::uint64_t>(GemmCall(args).flops());
      };
    }
    return list;
  }();
  return kList;
}

// Runs the kernel that mm would choose without tuning.
void run_fastest(Stream& stream, const KernelArgs& args) {
  const Kernel* best = nullptr;
  double shortest_ns = 0;
  for (const Kernel& kernel : single_kernels()) {
    if ((kernel.is_relaxed && determinism() == Determinism::Strict) || !kernel.supports(args)) continue;
    const double ns = kernel.predict(args);
    if (best != nullptr && ns >= shortest_ns) continue;
    best = &kernel;
    shortest_ns = ns;
  }
  PEL_ASSERT(best != nullptr, "one of the kernels supports every matmul");
  best->run(stream, args);
}

// A matrix of a group, as an operand.
struct GroupOperand {
  std::int64_t sizes[2], strides[2];
  Operand operand;

  // Matrix `batch`, its rows [row, row + rows) and its columns [column, column + columns).
  GroupOperand(const Operand& o, std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
               std::int64_t columns)
      : sizes{rows, columns}, strides{o.strides[o.rank - 2], o.strides[o.rank - 1]}, operand(o) {
    const std::int64_t offset =
        (o.rank == 3 ? batch * o.strides[0] : 0) + row * strides[0] + column * strides[1];
    operand.data = static_cast<char*>(o.data) + offset * size_bytes(static_cast<DType>(o.dtype));
    operand.sizes = sizes;
    operand.strides = strides;
    operand.rank = 2;
    operand.is_row_major = 0;
  }
  GroupOperand(const GroupOperand&) = delete;
  GroupOperand& operator=(const GroupOperand&) = delete;
};

// Writes zeros: no group has these elements.
void clear(const GroupOperand& part) {
  const std::int64_t width = size_bytes(static_cast<DType>(part.operand.dtype));
  auto* const data = static_cast<char*>(part.operand.data);
  for (std::int64_t i = 0; i < part.sizes[0]; ++i)
    std::memset(data + i * part.strides[0] * width, 0, static_cast<std::size_t>(part.sizes[1] * width));
}

// Inputs: a, b and, unless both are batches, the end of each group along the axis that is divided: rows of a
// for [m, k] by [g, k, n], columns of b for [g, m, k] by [k, n], the inner axis for [m, k] by [k, n]. The
// result is row-major.
void run_grouped(Stream& stream, const KernelArgs& args) {
  if (args.input_count == 2) return run_fastest(stream, args);
  const Operand &out = output(args, 0), &a = input(args, 0), &b = input(args, 1), &ends = input(args, 2);
  const std::int64_t m = out.sizes[out.rank - 2], n = out.sizes[out.rank - 1], k = a.sizes[a.rank - 1];
  const bool by_rows = b.rank == 3, by_columns = a.rank == 3;
  const std::int64_t length = by_rows ? m : by_columns ? n : k;
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < ends.sizes[0]; ++g) {
    const std::int64_t end = static_cast<const std::int32_t*>(ends.data)[g * ends.strides[0]];
    PEL_CHECK(end >= begin && end <= length, ValueError,
              "group {} ends at {}; expected {} to {}: ends do not decrease and stay inside the axis", g, end,
              begin, length);
    const std::int64_t count = end - begin, rows = by_rows ? count : m, columns = by_columns ? count : n;
    if (rows > 0 && columns > 0) {
      const std::int64_t row = by_rows ? begin : 0, column = by_columns ? begin : 0;
      const bool by_inner = !by_rows && !by_columns;
      const std::int64_t inner = by_inner ? begin : 0, depth = by_inner ? count : k;
      const GroupOperand to(out, g, row, rows, column, columns), left(a, g, row, rows, inner, depth),
          right(b, g, inner, depth, column, columns);
      const Operand operands[3] = {to.operand, left.operand, right.operand};
      KernelArgs one = args;
      one.input_count = 2;
      one.operands = operands;
      one.scratch = nullptr;
      one.scratch_bytes = 0;
      run_fastest(stream, one);
    }
    begin = end;
  }
  if (by_rows) clear({out, 0, begin, m - begin, 0, n});
  if (by_columns) clear({out, 0, 0, m, begin, n - begin});
}

// Of all groups, if they divide the whole axis.
std::uint64_t flops_of_groups(const KernelArgs& args) {
  const Operand &out = output(args, 0), &a = input(args, 0);
  const std::int64_t batch = args.input_count == 2 ? out.sizes[0] : 1;
  return 2 * static_cast<std::uint64_t>(batch * out.sizes[out.rank - 2] * out.sizes[out.rank - 1] *
                                        a.sizes[a.rank - 1]);
}

}  // namespace

void register_packing() {
  static constexpr Packer kPacker{bytes_of_panels, pack_for_tiles, [](const Kernel& kernel) {
                                    return kernel.run == run_gemm_tiles || is_fused_gemm(kernel) ||
                                           is_fused_linear(kernel);
                                  }};
  set_packer(DeviceType::Cpu, &kPacker);
}

KernelLists gemm_kernels() {
  static const std::vector<Kernel>& list = single_kernels();
  static const auto kGrouped = [] {
    Kernel kernel{"cpu_gemm_grouped", supports_any, run_grouped};
    kernel.flops = flops_of_groups;
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"mm", list},
                                                            {"bmm", list},
                                                            {"addmm", list},
                                                            {"baddbmm", list},
                                                            {"mv", list},
                                                            {"grouped_mm", kGrouped}});
  return kLists;
}

}  // namespace pel::cpu

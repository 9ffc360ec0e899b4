// Products of matrices in every dtype and layout: plain loops over generated steps, for what no engine takes
// and for what is too small for one.
#include "backends/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/float_mode.h"
#include "backends/cpu/gemm_steps.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/onednn/gemm.h"
#include "backends/cpu/tile.h"
#include "base/thread_pool.h"
#include "dispatch/pointwise.h"
#include "tensor/convert.h"

namespace pel::cpu {

GemmCall::GemmCall(const KernelArgs& args)
    : adds(args.input_count == 3),
      dtype(static_cast<DType>(args.operands[0].dtype)),
      beta(args.scalars[0]),
      alpha(args.scalars[1]) {
  const auto matrix = [](const Operand& o) {
    const int rows = o.rank - 2;
    return Matrix{static_cast<char*>(o.data), rows > 0 ? o.strides[0] : 0, o.strides[rows],
                  o.strides[rows + 1]};
  };
  const Operand& first = output(args, 0);
  const int rows = first.rank - 2;
  if (rows > 0) batch = first.sizes[0];
  m = first.sizes[rows];
  n = first.sizes[rows + 1];
  k = input(args, 0).sizes[rows + 1];
  out = matrix(first);
  a = matrix(input(args, 0));
  b = matrix(input(args, 1));
  if (adds) added = matrix(input(args, 2));
}

double GemmCall::bytes() const {
  return static_cast<double>(batch) * static_cast<double>(m * k + k * n + m * n) *
         static_cast<double>(size_bytes(dtype));
}

std::string GemmCall::epilogue() const {
  std::string text;
  if (adds) text = added.row == 0 && m > 1 ? "bias" : "add";
  if (alpha.as_float != 1) text += text.empty() ? "alpha" : "_alpha";
  if (adds && beta.as_float != 1) text += "_beta";
  return text;
}

std::string GemmCall::layout() const { return {b.order(k, n), a.order(m, k)}; }

std::string gemm_class(const KernelArgs& args) {
  const GemmCall c(args);
  const auto up = [](std::int64_t size) { return std::bit_ceil(static_cast<std::uint64_t>(size)); };
  const std::string after = c.epilogue();
  return fmt::format("gemm_{}_{}_{}x{}x{}x{}{}{}", name(c.dtype), c.layout(), up(c.batch), up(c.m), up(c.n),
                     up(c.k), after.empty() ? "" : "_", after);
}

namespace {

constexpr std::int64_t kColumns = 256, kRows = 16, kDepth = 64;  // of a block
constexpr double kTinyFlops = 4096;

// One fused multiply-add after the other, as the generated step does.
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
__attribute__((target("fma"))) void multiply_tiny(const GemmCall& c) {
  using Value = typename Arithmetic<T>::Value;
  constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
  const auto at = [](const Matrix& x, std::int64_t b, std::int64_t i, std::int64_t j) {
    return x.data + (b * x.batch + i * x.row + j * x.column) * kWidth;
  };
  const bool scales = c.adds || c.alpha.as_float != 1;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        Value total = 0;
        for (std::int64_t l = 0; l < c.k; ++l)
          total = Arithmetic<T>::step(total, static_cast<Value>(load_as<T>(at(c.a, b, i, l))),
                                      static_cast<Value>(load_as<T>(at(c.b, b, l, j))));
        if (scales) {
          const Value added = c.adds ? static_cast<Value>(load_as<T>(at(c.added, b, i, j))) : Value(0);
          total = Arithmetic<T>::finish(total, added, c);
        }
        store_as(at(c.out, b, i, j), static_cast<T>(total));
      }
    }
  }
}

Support supports_tiny(const KernelArgs& args) {
  return GemmCall(args).flops() <= kTinyFlops ? Support::yes()
                                              : Support::no("too large to go element by element");
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

// Blocks of rows and columns, independent of each other. Inside one, k goes from the first to the last.
class Blocks {
 public:
  explicit Blocks(const GemmCall& call)
      : c_(call), steps_(gemm_steps(call.dtype)), value_(size_bytes(value_type(call.dtype))) {}

  void run() {
    const std::int64_t across = (c_.n + kColumns - 1) / kColumns, down = (c_.m + kRows - 1) / kRows;
    const std::int64_t work = std::max<std::int64_t>(1, kRows * kColumns * c_.k);
    parallel_for(c_.batch * across * down, std::max<std::int64_t>(1, (1 << 18) / work),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   Room room(*this);
                   for (std::int64_t i = begin; i < end; ++i)
                     block(i / (across * down), i % down * kRows, i / down % across * kColumns, room);
                 });
  }

 private:
  struct Room {
    explicit Room(const Blocks& blocks)
        : totals(static_cast<std::size_t>(kRows * kColumns * blocks.value_)),
          packed(static_cast<std::size_t>(kDepth * kColumns * size_bytes(blocks.c_.dtype))),
          row(static_cast<std::size_t>(kColumns * size_bytes(blocks.c_.dtype))) {}
    std::vector<char> totals, packed, row;
  };

  char* at(const Matrix& x, std::int64_t b, std::int64_t i, std::int64_t j) const {
    return x.data + (b * x.batch + i * x.row + j * x.column) * size_bytes(c_.dtype);
  }

  void block(std::int64_t b, std::int64_t first_row, std::int64_t first_column, Room& room) {
    const std::int64_t rows = std::min(kRows, c_.m - first_row),
                       columns = std::min(kColumns, c_.n - first_column);
    std::fill(room.totals.begin(), room.totals.end(), char{0});
    for (std::int64_t first = 0; first < c_.k; first += kDepth) {
      const std::int64_t depth = std::min(kDepth, c_.k - first);
      const Tile panel = panel_of(b, first, depth, first_column, columns, room);
      for (std::int64_t i = 0; i < rows; ++i) {
        char* totals = room.totals.data() + i * kColumns * value_;
        for (std::int64_t l = 0; l < depth; ++l) {
          void* data[4] = {totals, totals, at(c_.a, b, first_row + i, first + l),
                           panel.data + l * panel.row_step};
          constexpr std::int64_t kStrides[4] = {1, 1, 0, 1};
          steps_.step(columns, data, kStrides, nullptr);
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i)
      finish(b, first_row + i, first_column, columns, room.totals.data() + i * kColumns * value_, room);
  }

  // Rows of b, dense: as they lie, or copied.
  Tile panel_of(std::int64_t b, std::int64_t first, std::int64_t depth, std::int64_t column,
                std::int64_t columns, Room& room) const {
    const std::int64_t width = size_bytes(c_.dtype);
    const Tile there{at(c_.b, b, first, column), c_.b.row * width, c_.b.column * width};
    if (c_.b.column == 1) return there;
    const Tile here{room.packed.data(), columns * width, width};
    copy_tile(here, there, depth, columns, width);
    return here;
  }

  void finish(std::int64_t b, std::int64_t i, std::int64_t column, std::int64_t columns, char* totals,
              Room& room) const {
    const std::int64_t width = size_bytes(c_.dtype);
    const bool dense = c_.out.column == 1;
    char* to = dense ? at(c_.out, b, i, column) : room.row.data();
    if (c_.adds || c_.alpha.as_float != 1) {
      // What is not there is a zero, which is added.
      std::uint64_t zero = 0;
      const bool single = !c_.adds || c_.added.column == 0;
      char* added = c_.adds ? at(c_.added, b, i, column) : reinterpret_cast<char*>(&zero);
      if (!single && c_.added.column != 1) {
        copy_tile({room.packed.data(), 0, width}, {added, 0, c_.added.column * width}, 1, columns, width);
        added = room.packed.data();
      }
      void* data[3] = {to, totals, added};
      const std::int64_t strides[3] = {1, 1, single ? 0 : 1};
      const PelScalar numbers[2] = {c_.beta, c_.alpha};
      steps_.finish(columns, data, strides, numbers);
    } else if (steps_.store != nullptr) {
      void* data[2] = {to, totals};
      constexpr std::int64_t kStrides[2] = {1, 1};
      steps_.store(columns, data, kStrides, nullptr);
    } else {
      std::memcpy(to, totals, static_cast<std::size_t>(columns * width));
    }
    if (!dense)
      copy_tile({at(c_.out, b, i, column), 0, c_.out.column * width}, {to, 0, width}, 1, columns, width);
  }

  const GemmCall& c_;
  GemmSteps steps_;
  std::int64_t value_;  // bytes
};

Support supports_blocks(const KernelArgs&) { return Support::yes(); }
double predict_blocks(const KernelArgs& args) {
  // A call a step, for each row and each k; b is copied where its rows are not dense.
  const GemmCall c(args);
  const auto rows = static_cast<double>(c.batch * c.m), columns = static_cast<double>(c.n),
             k = static_cast<double>(c.k);
  const double steps = rows * k * std::ceil(columns / kColumns);
  const double copied = c.b.column == 1 ? 0 : std::ceil(rows / kRows) * columns * k;
  return 500 + 18 * steps + c.flops() * static_cast<double>(size_bytes(value_type(c.dtype))) / 80 + copied;
}
void run_blocks(Stream&, const KernelArgs& args) { Blocks(GemmCall(args)).run(); }

std::string full_name(const KernelArgs& args, std::string_view tile) {
  const GemmCall c(args);
  const std::string after = c.epilogue();
  return fmt::format("pellucid_{}_{}_{}_{}{}{}", codegen::name(*active_isa()), name(c.dtype), c.layout(),
                     tile, after.empty() ? "" : "_", after);
}

}  // namespace

KernelLists gemm_kernels() {
  static const std::vector<Kernel> kList = [] {
    std::vector<Kernel> list;
    Kernel tiny{"cpu_gemm_tiny", supports_tiny, run_tiny};
    tiny.predict = predict_tiny;
    tiny.describe = [](const KernelArgs& args) { return full_name(args, "tiny"); };
    Kernel blocks{"cpu_gemm_blocks", supports_blocks, run_blocks};
    blocks.predict = predict_blocks;
    blocks.describe = [](const KernelArgs& args) { return full_name(args, "blocks16x256"); };
    list.push_back(tiny);
    if (const std::optional<Kernel> engine = onednn::gemm_kernel()) list.push_back(*engine);
    list.push_back(blocks);
    for (Kernel& kernel : list) kernel.shape_class = gemm_class;
    return list;
  }();
  static const auto kLists = std::to_array<BackendKernels>(
      {{"mm", kList}, {"bmm", kList}, {"addmm", kList}, {"baddbmm", kList}, {"mv", kList}});
  return kLists;
}

}  // namespace pel::cpu

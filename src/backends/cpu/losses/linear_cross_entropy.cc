// The mean cross entropy of logits input weight^T, and its gradients. The logits are never stored as a whole:
// the forward pass has some rows of all classes at a time. The backward pass computes them again, in blocks
// of rows and classes, and adds up the gradients over blocks.
//
// Bits are those of the parts. Elements of the logits are independent of each other. A gradient's sum over
// the classes, or the rows, goes on from block to block in the order of one GEMM: blocks are multiples of
// kChainDepth (gemm_tiles.h).
#include <algorithm>
#include <array>
#include <cstring>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/gemm/packed_gemm.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/losses/class_rows.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kBlockRows = kChainDepth, kBlockClasses = 4 * kChainDepth;
constexpr std::int64_t kMaxLogits = 1 << 22;  // of some rows of all classes: 16 MB of f32
constexpr std::int64_t kMinRows = 64;         // fewer are slow to multiply

// [rows, features], [classes, features] and [rows]. Scalars: the target that is ignored.
struct Call {
  Call(const KernelArgs& args, int first)
      : input(matrix_of(pel::input(args, first))),
        weight(matrix_of(pel::input(args, first + 1))),
        dtype(static_cast<DType>(pel::input(args, first).dtype)),
        rows(pel::input(args, first).sizes[0]),
        features(pel::input(args, first).sizes[1]),
        classes(pel::input(args, first + 1).sizes[0]),
        targets{static_cast<const char*>(pel::input(args, first + 2).data),
                static_cast<DType>(pel::input(args, first + 2).dtype), classes, args.scalars[0].as_int},
        size(size_bytes(dtype)),
        value_size(size_bytes(value_type(dtype))) {}

  std::uint64_t flops_of_one() const { return 2 * static_cast<std::uint64_t>(rows * features * classes); }
  static Matrix rows_from(const Matrix& m, std::int64_t row, std::int64_t element_size) {
    return {m.data + row * m.row * element_size, 0, m.row, m.column};
  }

  Matrix input, weight;
  DType dtype;
  std::int64_t rows, features, classes;
  Targets targets;
  std::int64_t size, value_size;  // bytes of an element, and of a value of a row
};

// A block of logits: row-major, of up to `width` classes.
class Block {
 public:
  Block(const Call& call, char* data, std::int64_t width) : call_(call), data_(data), width_(width) {}

  // Computes logits. Columns begin at `column` of the block.
  void multiply(std::int64_t row, std::int64_t rows, std::int64_t first_class, std::int64_t classes,
                std::int64_t column) const {
    TileGemm gemm{1,
                  rows,
                  classes,
                  call_.features,
                  call_.dtype,
                  Call::rows_from(call_.input, row, call_.size),
                  Call::rows_from(call_.weight, first_class, call_.size).transposed(),
                  {data_ + column * call_.size, 0, width_, 1},
                  call_.dtype,
                  {},
                  {}};
    run_packed_or_not(std::move(gemm));
  }
  Matrix matrix() const { return {data_, 0, width_, 1}; }

 private:
  const Call& call_;
  char* data_;
  std::int64_t width_;
};

// Describes a block for row ops.
struct BlockOperand {
  BlockOperand(const Block& block, DType dtype, std::int64_t rows, std::int64_t classes)
      : sizes{rows, classes}, strides{block.matrix().row, 1} {
    operand.data = block.matrix().data;
    operand.sizes = sizes;
    operand.strides = strides;
    operand.rank = 2;
    operand.dtype = static_cast<std::uint8_t>(dtype);
  }
  BlockOperand(const BlockOperand&) = delete;
  BlockOperand& operator=(const BlockOperand&) = delete;

  std::int64_t sizes[2], strides[2];
  Operand operand{};
};

// ---- Forward. Outputs: the mean, of how many rows it is, the max of each row and 1 / sum(e^(x - max)).
// Inputs: input, weight, targets.

std::int64_t rows_at_a_time(const Call& call) {
  const std::int64_t fits = kMaxLogits / std::max<std::int64_t>(1, call.classes) / kMinRows * kMinRows;
  return std::min(std::clamp(fits, kMinRows, kBlockRows), call.rows);
}
std::uint64_t forward_scratch(const KernelArgs& args) {
  const Call call(args, 0);
  return static_cast<std::uint64_t>(KernelScratch::rounded(rows_at_a_time(call) * call.classes * call.size) +
                                    3 * KernelScratch::rounded(call.rows * call.value_size));
}
void run_forward(Stream& stream, const KernelArgs& args) {
  const Call call(args, 0);
  KernelScratch scratch(args, static_cast<std::int64_t>(forward_scratch(args)));
  const std::int64_t step = rows_at_a_time(call);
  const Block block(call, scratch.take(step * call.classes * call.size), call.classes);
  char* const largest = scratch.take(call.rows * call.value_size);
  char* const log_sums = scratch.take(call.rows * call.value_size);
  char* const losses = scratch.take(call.rows * call.value_size);
  for (std::int64_t row = 0; row < call.rows; row += step) {
    const std::int64_t count = std::min(step, call.rows - row), offset = row * call.value_size;
    for (std::int64_t c = 0; c < call.classes; c += kBlockClasses)
      block.multiply(row, count, c, std::min(kBlockClasses, call.classes - c), c);
    const BlockOperand logits(block, call.dtype, count, call.classes);
    const ClassRows rows(logits.operand, 1);
    rows.to_values(stream, op<"cross_entropy_rows">(), "", {largest + offset, log_sums + offset});
    write_losses(rows, call.targets.from(row), largest + offset, log_sums + offset, losses + offset);
    rows.to_values(stream, op<"cross_entropy_rows_backward">(), "statistics",
                   {static_cast<char*>(output(args, 2).data) + offset,
                    static_cast<char*>(output(args, 3).data) + offset});
  }
  write_mean(call.targets, call.rows, losses, output(args, 0), output(args, 1));
}

// ---- Backward. Outputs: the gradients of input and weight. Inputs: that of the mean, input, weight,
// targets, and the other results of the forward pass.

// A gradient [rows, features] that is added up in the type of the GEMM's sums.
struct Sums {
  // `scratch` is for `sum_rows` rows that are rounded to the result, unless the result has the type of sums.
  Sums(const Operand& to, char* scratch)
      : result(matrix_of(to)),
        dtype(static_cast<DType>(to.dtype)),
        type(tiles_for(dtype).type),
        columns(to.sizes[1]),
        bytes(to.sizes[0] * columns * size_bytes(dtype)),
        sums(type == dtype ? result.data : scratch) {}
  static std::int64_t scratch_bytes(const Operand& to, std::int64_t rows) {
    const DType dtype = static_cast<DType>(to.dtype), type = tiles_for(dtype).type;
    return type == dtype ? 0 : rows * to.sizes[1] * size_bytes(type);
  }

  // Adds a b, of `depth` products, to rows [row, row + rows) of the gradient, which is sums' row `sum_row`.
  void add(Matrix a, Matrix b, std::int64_t row, std::int64_t sum_row, std::int64_t rows, std::int64_t depth,
           bool continues) const {
    TileGemm gemm{1,    rows, columns, depth, dtype, a, b, {at(type == dtype ? row : sum_row), 0, columns, 1},
                  type, {},   {}};
    gemm.continues = continues;
    run_tiles(gemm);
  }
  void clear() const { std::memset(result.data, 0, static_cast<std::size_t>(bytes)); }
  void round(std::int64_t row, std::int64_t sum_row, std::int64_t rows) const {
    if (type == dtype) return;
    char* const to = result.data + row * columns * size_bytes(dtype);
    parallel_for(rows, Grain::of(kGrainElements, columns), [&](std::int64_t begin, std::int64_t end) {
      const DefaultFloatMode mode;
      cast_elements(to + begin * columns * size_bytes(dtype), dtype, at(sum_row + begin), type,
                    (end - begin) * columns);
    });
  }

 private:
  char* at(std::int64_t row) const { return sums + row * columns * size_bytes(type); }
  Matrix result;
  DType dtype, type;
  std::int64_t columns, bytes;
  char* sums;
};

struct BackwardSizes {
  explicit BackwardSizes(const KernelArgs& args) : call(args, 1) {
    values = call.rows * call.value_size;
    block = std::min(call.rows, kBlockRows) * std::min(call.classes, kBlockClasses) * call.size;
    input_sums = Sums::scratch_bytes(output(args, 0), call.rows);
    weight_sums = Sums::scratch_bytes(output(args, 1), std::min(call.classes, kBlockClasses));
  }
  std::int64_t total() const {
    std::int64_t bytes = 0;
    for (const std::int64_t part : {values, block, input_sums, weight_sums})
      bytes += KernelScratch::rounded(part);
    return bytes;
  }
  Call call;
  std::int64_t values, block, input_sums, weight_sums;  // bytes
};
std::uint64_t backward_scratch(const KernelArgs& args) {
  return static_cast<std::uint64_t>(BackwardSizes(args).total());
}
void run_backward(Stream& stream, const KernelArgs& args) {
  const BackwardSizes sizes(args);
  const Call& call = sizes.call;
  KernelScratch scratch(args, sizes.total());
  char* const gradients = scratch.take(sizes.values);
  const Block block(call, scratch.take(sizes.block), std::min(call.classes, kBlockClasses));
  const Sums to_input(output(args, 0), scratch.take(sizes.input_sums)),
      to_weight(output(args, 1), scratch.take(sizes.weight_sums));
  if (call.rows == 0 || call.classes == 0) {  // sums of nothing
    to_input.clear();
    return to_weight.clear();
  }
  write_gradients(call.targets, call.rows, input(args, 0), input(args, 4), gradients);
  for (std::int64_t c = 0; c < call.classes; c += kBlockClasses) {
    const std::int64_t classes = std::min(kBlockClasses, call.classes - c);
    for (std::int64_t row = 0; row < call.rows; row += kBlockRows) {
      const std::int64_t count = std::min(kBlockRows, call.rows - row), offset = row * call.value_size;
      block.multiply(row, count, c, classes, 0);
      const BlockOperand logits(block, call.dtype, count, classes);
      const ClassRows rows(logits.operand, 1);
      rows.to_rows(stream, op<"cross_entropy_rows_backward">(), "columns", logits.operand,
                   {gradients + offset, static_cast<char*>(input(args, 5).data) + offset,
                    static_cast<char*>(input(args, 6).data) + offset});
      subtract_at_targets(rows, call.targets.from(row), gradients + offset, c, logits.operand);
      to_input.add(block.matrix(), Call::rows_from(call.weight, c, call.size), row, row, count, classes,
                   c > 0);
      to_weight.add(block.matrix().transposed(), Call::rows_from(call.input, row, call.size), c, 0, classes,
                    count, row > 0);
    }
    to_weight.round(c, 0, classes);
  }
  to_input.round(0, 0, call.rows);
}

}  // namespace

KernelLists linear_cross_entropy_kernels() {
  static const auto kForward = [] {
    Kernel kernel{"cpu_linear_cross_entropy", supports_any, run_forward};
    kernel.scratch_bytes = forward_scratch;
    kernel.flops = [](const KernelArgs& args) { return Call(args, 0).flops_of_one(); };
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kBackward = [] {
    Kernel kernel{"cpu_linear_cross_entropy_backward", supports_any, run_backward};
    kernel.scratch_bytes = backward_scratch;
    kernel.flops = [](const KernelArgs& args) { return 3 * Call(args, 1).flops_of_one(); };
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kLists = std::to_array<BackendKernels>(
      {{"native_linear_cross_entropy", kForward}, {"linear_cross_entropy_backward", kBackward}});
  return kLists;
}

}  // namespace pel::cpu

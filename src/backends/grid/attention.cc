// Attention from text, with the order of the CPU's: docs of backends/cpu/attention. An item has up to 8 rows.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "backends/grid/grid_call.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "codegen/c_like/attention_text.h"
#include "dispatch/attention_formulas.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::grid {
namespace {

// Operands: results, logarithms; query, key, value, and the mask if there is one. Scalars: scale, is_causal,
// window (0: none).
struct Attention {
  explicit Attention(const KernelArgs& args)
      : dtype(dtype_of(input(args, 0))),
        type(value_type(dtype)),
        batch(input(args, 0).sizes[0]),
        heads(input(args, 0).sizes[1]),
        key_heads(input(args, 1).sizes[1]),
        queries(input(args, 0).sizes[2]),
        keys(input(args, 1).sizes[2]),
        width(input(args, 0).sizes[3]),
        value_width(input(args, 2).sizes[3]),
        scale(args.scalars[0].as_float) {
    if (args.input_count > 3) mask = &input(args, 3);
  }
  std::int64_t rows() const { return key_heads == 0 ? 0 : heads / key_heads * queries; }  // of a head of keys
  std::int64_t sum_row() const {
    return (value_width + codegen::kVectorLanes - 1) / codegen::kVectorLanes * codegen::kVectorLanes;
  }
  // Scores are scaled before an additive mask; before a bool one only if infinity times the scale is NaN.
  bool scales_first() const { return mask != nullptr && (dtype_of(*mask) != kBool || scale == 0); }
  double power_scale() const { return (scales_first() ? 1 : scale) * std::numbers::log2e; }

  DType dtype, type;
  std::int64_t batch, heads, key_heads, queries, keys, width, value_width;
  double scale;
  const Operand* mask = nullptr;
};

bool has_dense_columns(const Operand& operand) { return operand.strides[3] == 1 || operand.sizes[3] == 1; }

codegen::AttentionText text_of(const Attention& call, int lanes, int rows) {
  const FoldKind larger = call.power_scale() < 0 ? FoldKind::Min : FoldKind::Max;
  codegen::AttentionText text{
      .name = "pel_attention",
      .dtype = call.dtype,
      .type = call.type,
      .mask = {},
      .lanes = lanes,
      .rows = rows,
      .initial_bits = initial_bits(larger, call.type),
      .masked = {},
      .larger = combine_expr(larger, call.type),
      .weights = attention_formulas::weights(call.dtype),
      .sum = combine_expr(FoldKind::Sum, call.type),
      .decay = attention_formulas::decay(call.type),
      .finish = attention_formulas::finish(call.dtype),
      .logsumexp = attention_formulas::logsumexp(call.type),
  };
  if (call.mask != nullptr) {
    text.mask = dtype_of(*call.mask);
    text.masked = *text.mask == kBool ? attention_formulas::choose(call.type)
                                      : attention_formulas::add_mask(call.type, call.dtype);
  }
  return text;
}

void run_attention(Stream&, const KernelArgs& args) {
  const Attention of(args);
  if (of.batch * of.key_heads * of.rows() == 0) return;
  const Operand &out = output(args, 0), &query = input(args, 0), &key = input(args, 1),
                &value = input(args, 2);
  const bool is_dense = has_dense_columns(out) && has_dense_columns(key) && has_dense_columns(value) &&
                        (of.mask == nullptr || has_dense_columns(*of.mask) || of.mask->strides[3] == 0);
  const int lanes = abilities().is_cpu && is_dense ? codegen::kVectorLanes : 1;
  // Rows of an item read keys and values once. A GPU has enough items with a row each.
  constexpr int kMaxRows = 8;
  int rows = 1;
  while (lanes > 1 && rows < kMaxRows && rows < of.rows()) rows *= 2;
  static Functions functions;
  const std::uint64_t key_of_text =
      static_cast<std::uint64_t>(of.dtype) | static_cast<std::uint64_t>(lanes) << 8 |
      static_cast<std::uint64_t>(rows) << 16 | (of.power_scale() < 0 ? 1u << 24 : 0u) |
      (of.mask == nullptr            ? 0u
       : dtype_of(*of.mask) == kBool ? 1u << 25
                                     : 1u << 26);
  const FunctionHandle function = built(functions, key_of_text, "pel_attention", [&] {
    return codegen::attention_text(dialect(), text_of(of, lanes, rows));
  });
  GridCall call;
  std::vector<const Operand*> operands = {&out, &output(args, 1), nullptr, &query, &key, &value};
  if (of.mask != nullptr) operands.push_back(of.mask);
  for (const Operand* operand : operands) call.address(operand == nullptr ? args.scratch : operand->data);
  for (const std::int64_t number : {of.rows(), of.queries, of.keys, of.width, of.value_width, of.key_heads,
                                    args.scalars[1].as_int, args.scalars[2].as_int, of.sum_row()})
    call.number(number);
  for (const Operand* operand : operands)
    for (int axis = 0; axis < 4; ++axis)
      call.number(operand != nullptr && axis < operand->rank ? operand->strides[axis] : 0);
  const double factor = of.scales_first() ? of.scale : 1,
               hidden = std::copysign(std::numeric_limits<double>::infinity(), -of.power_scale());
  for (const double number : {of.power_scale(), factor, hidden})
    call.number(number_bits(PelScalar{number, 0, PEL_SCALAR_FLOAT, {}}, of.type));
  const auto items = static_cast<std::uint64_t>((of.rows() + rows - 1) / rows);
  const std::uint32_t group = lanes > 1 ? 1 : kItems;
  call.launch(function,
              LaunchShape{{(items + group - 1) / group * group, static_cast<std::uint64_t>(of.key_heads),
                           static_cast<std::uint64_t>(of.batch)},
                          {group, 1, 1}});
}

Support supports_attention(const KernelArgs& args) {
  if (dtype_of(input(args, 0)) == kBF16) return Support::no("there is no text for the order of bf16");
  return supports_memory(args);
}
// The weighted values so far of all rows.
std::uint64_t scratch_of_attention(const KernelArgs& args) {
  const Attention of(args);
  return static_cast<std::uint64_t>(of.batch * of.key_heads * of.rows() * of.sum_row() * size_bytes(of.type));
}
// As if every query attended to every key.
std::uint64_t flops_of_attention(const KernelArgs& args) {
  const Attention of(args);
  return static_cast<std::uint64_t>(2 * of.batch * of.heads * of.queries * of.keys *
                                    (of.width + of.value_width));
}

}  // namespace

KernelLists attention_kernels() {
  static const auto kAttention = [] {
    Kernel text{"attention_text", supports_attention, run_attention};
    text.scratch_bytes = scratch_of_attention;
    text.flops = flops_of_attention;
    return std::to_array<Kernel>({text});
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"attention", kAttention}});
  return kLists;
}

}  // namespace pel::grid

// Values from the index of an element: arange, linspace, eye, one_hot; and scans along one axis.
#include <array>
#include <bit>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "codegen/c_like/expr_text.h"

namespace pel::grid {
namespace {

using codegen::cast_text;
using codegen::ItemText;
using codegen::memory_type_name;
using codegen::value_type_name;

// What is stored for a value of type `from`.
std::string stored(std::string_view value, DType from, DType to) {
  return fmt::format("({})({})", memory_type_name(to), cast_text(std::string(value), from, to, 1));
}

Support into_row_major(const KernelArgs& args) {
  return is_dense_in_order(output(args, 0)) ? supports_memory(args)
                                            : Support::no("the output is not row-major");
}

Support supports_arange(const KernelArgs& args) {
  if (is_floating(dtype_of(output(args, 0))) && !abilities().has_f64)
    return Support::no("the device has no f64");
  return into_row_major(args);
}
// Operands: dst; scalars: start, step. Floating ones are computed in f64.
void run_arange(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const DType dtype = dtype_of(dst), computed = is_floating(dtype) ? kF64 : kI64;
  static Functions functions;
  const FunctionHandle function = built_items(functions, dst.dtype, "pel_arange", [&] {
    const std::string value =
        computed == kF64 ? "add_f64(as_pel_f64(call.start), mul_f64((pel_f64)i, as_pel_f64(call.step)))"
                         : "call.start + i * call.step";
    return ItemText{
        "pel_arange", 1, "start, step", "",
        fmt::format("  const {} value = {};\n  PEL_AT({}, 0)[i] = {};\n", value_type_name(computed), value,
                    memory_type_name(dtype), stored("value", computed, dtype))};
  });
  GridCall call;
  call.address(dst.data);
  call.number(dst.sizes[0]);
  call.number(number_bits(args.scalars[0], computed));
  call.number(number_bits(args.scalars[1], computed));
  call.launch(function, dst.sizes[0], kItems);
}

// Operands: dst; scalars: the ends. Integers: the ends are truncated first, then steps are computed in f32.
void run_linspace(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const DType dtype = dtype_of(dst), computed = dtype == kF64 ? kF64 : kF32;
  static Functions functions;
  const FunctionHandle function = built_items(functions, dst.dtype, "pel_linspace", [&] {
    const std::string type = value_type_name(computed), suffix(name(computed));
    const std::string bits = computed == kF64 ? "as_pel_f64(" : "as_pel_f32((pel_u32)";
    return ItemText{
        "pel_linspace", 1, "first, last, step", "",
        fmt::format("  const {0} first = {1}call.first), last = {1}call.last), step = {1}call.step);\n"
                    "  const {0} value = i < call.count / 2 || call.count == 1\n"
                    "    ? add_{2}(first, mul_{2}(step, ({0})i))\n"
                    "    : sub_{2}(last, mul_{2}(step, ({0})(call.count - 1 - i)));\n"
                    "  PEL_AT({3}, 0)[i] = {4};\n",
                    type, bits, suffix, memory_type_name(dtype), stored("value", computed, dtype))};
  });
  const std::int64_t count = dst.sizes[0];
  GridCall call;
  call.address(dst.data);
  call.number(count);
  with_type(computed, [&]<class C>(std::type_identity<C>) {
    if constexpr (std::is_floating_point_v<C>) {
      const auto end = [&](int i) {
        const PelScalar& s = args.scalars[i];
        return is_floating(dtype) ? static_cast<C>(s.as_float) : static_cast<C>(s.as_int);
      };
      const C first = end(0), last = end(1);
      const C step = count > 1 ? (last - first) / static_cast<C>(count - 1) : C(0);
      for (const C value : {first, last, step}) {
        std::int64_t bits = 0;
        store_as(&bits, value);
        call.number(bits);
      }
    }
  });
  call.launch(function, count, kItems);
}

// Operands: dst.
void run_eye(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const DType dtype = dtype_of(dst);
  static Functions functions;
  const FunctionHandle function = built_items(functions, dst.dtype, "pel_eye", [&] {
    return ItemText{"pel_eye", 1, "columns", "",
                    fmt::format("  const pel_i32 one = i / call.columns == i % call.columns ? 1 : 0;\n"
                                "  PEL_AT({}, 0)[i] = {};\n",
                                memory_type_name(dtype), stored("one", kI32, dtype))};
  });
  GridCall call;
  call.address(dst.data);
  call.number(count_of(dst));
  call.number(dst.sizes[1]);
  call.launch(function, count_of(dst), kItems);
}

// Operands: dst i64[…, classes]; src, row-major.
Support supports_one_hot(const KernelArgs& args) {
  return args.scalar_count == 1 ? Support::no("the number of classes is not known") : supports_memory(args);
}
void run_one_hot(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  static Functions functions;
  const FunctionHandle function = built_items(functions, 0, "pel_one_hot", [&] {
    return ItemText{
        "pel_one_hot", 2, "classes", "",
        fmt::format("  const pel_i64 row = i / call.classes, wanted = PEL_AT(const pel_i64, 1)[row];\n"
                    "  if (wanted < 0 || wanted >= call.classes)\n"
                    "    pel_report(status, call.launch, {}, wanted, call.classes);\n"
                    "  PEL_AT(pel_i64, 0)[i] = i - row * call.classes == wanted ? 1 : 0;\n",
                    codegen::kReportsClass)};
  });
  GridCall call;
  call.address(dst.data);
  call.address(input(args, 0).data);
  call.number(count_of(dst));
  call.number(dst.sizes[dst.rank - 1]);
  call.launch(function, count_of(dst), kItems, true);
}

// ---- Scans: one item a row, from its first element to its last. Scalar: the axis.

// Axes but the scanned one, the first operand's innermost first.
void add_row_axes(GridCall& call, const KernelArgs& args, int along) {
  const int count = args.output_count + args.input_count;
  const Operand& first = output(args, 0);
  call.number(first.rank - 1);
  const auto each_axis = [&](const auto& f) {
    int added = 0;
    for (int i = first.rank; i-- > 0;) {
      if (i == along) continue;
      call.number(f(i));
      ++added;
    }
    for (; added < kMaxGridAxes; ++added) call.number(0);
  };
  each_axis([&](int i) { return first.sizes[i]; });
  for (int k = 0; k < count; ++k) each_axis([&](int i) { return args.operands[k].strides[i]; });
}
std::string find_row(int operands) {
  std::string text = "  pel_i64 rest = i";
  for (int k = 0; k < operands; ++k) text += fmt::format(", at{} = 0", k);
  text +=
      ";\n  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {\n"
      "    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size;\n    rest = "
      "next;\n";
  for (int k = 0; k < operands; ++k)
    text += fmt::format("    at{0} += place * call.row_step[{0}][axis];\n", k);
  return text + "  }\n";
}
constexpr std::string_view kScanFields = "length, step[{0}], rank, size[8], row_step[{0}][8]";

void launch_scan(const KernelArgs& args, FunctionHandle function) {
  const auto along = static_cast<int>(args.scalars[0].as_int);
  const int count = args.output_count + args.input_count;
  const std::int64_t length = output(args, 0).sizes[along], rows = count_of(output(args, 0)) / length;
  GridCall call;
  for (int k = 0; k < count; ++k) call.address(args.operands[k].data);
  call.number(rows);
  call.number(length);
  for (int k = 0; k < count; ++k) call.number(args.operands[k].strides[along]);
  add_row_axes(call, args, along);
  call.launch(function, rows, kItems);
}

// Operands: dst; src. f32 accumulates in f64, halves in f32; integers wrap.
template <bool IsProduct>
void run_scan(Stream&, const KernelArgs& args) {
  const DType to = dtype_of(output(args, 0)), from = dtype_of(input(args, 0));
  const DType total = from == kF16 || from == kBF16 ? kF32 : is_floating(from) ? kF64 : kI64;
  static Functions functions;
  const std::string kernel = IsProduct ? "pel_scan_product" : "pel_scan_sum";
  const FunctionHandle function =
      built_items(functions, std::uint64_t{output(args, 0).dtype} << 8 | input(args, 0).dtype, kernel, [&] {
        const std::string loaded =
            fmt::format("PEL_AT(const {}, 1)[at1]{}", memory_type_name(from), from == kBool ? " != 0" : "");
        const std::string next =
            total == kI64 ? fmt::format("(pel_i64)((pel_u64)total {} (pel_u64)x)", IsProduct ? "*" : "+")
                          : fmt::format("{}_{}(total, x)", IsProduct ? "mul" : "add", name(total));
        return ItemText{kernel, 2, fmt::format(fmt::runtime(kScanFields), 2), "",
                        find_row(2) + fmt::format("  {0} total = {1};\n"
                                                  "  PEL_LOOP for (pel_i64 k = 0; k < call.length; ++k) {{\n"
                                                  "    const {0} x = {2};\n    total = {3};\n"
                                                  "    PEL_AT({4}, 0)[at0] = {5};\n"
                                                  "    at0 += call.step[0]; at1 += call.step[1];\n  }}\n",
                                                  value_type_name(total), IsProduct ? 1 : 0,
                                                  cast_text(loaded, from, total, 1), next,
                                                  memory_type_name(to), stored("total", total, to))};
      });
  launch_scan(args, function);
}
Support supports_scan(const KernelArgs& args) {
  if (dtype_of(output(args, 0)) != dtype_of(input(args, 0))) return Support::no("the dtypes differ");
  if (dtype_of(input(args, 0)) == kF32 && !abilities().has_f64) return Support::no("the device has no f64");
  return supports_memory(args);
}

// cummax, cummin. Operands: values, indices; src. The last of equal elements, the last of NaNs.
template <bool IsMax>
void run_extremes(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(input(args, 0));
  const DType compared = dtype == kF16 || dtype == kBF16 ? kF32 : dtype;
  static Functions functions;
  const std::string kernel = IsMax ? "pel_scan_max" : "pel_scan_min";
  const FunctionHandle function = built_items(functions, input(args, 0).dtype, kernel, [&] {
    const auto loaded = [&](std::string_view value) {
      return dtype == kBool ? fmt::format("{} != 0", value)
                            : cast_text(std::string(value), dtype, compared, 1);
    };
    return ItemText{
        kernel, 3, fmt::format(fmt::runtime(kScanFields), 3), "",
        find_row(3) +
            fmt::format("  {0} best = PEL_AT(const {0}, 2)[at2];\n  {1} best_value = {2};\n"
                        "  pel_i64 found = 0;\n"
                        "  PEL_LOOP for (pel_i64 k = 0; k < call.length; ++k) {{\n"
                        "    const {0} x = PEL_AT(const {0}, 2)[at2];\n    const {1} value = {3};\n"
                        "    if (value != value || (best_value == best_value && value {4} best_value)) {{\n"
                        "      best = x; best_value = value; found = k;\n    }}\n"
                        "    PEL_AT({0}, 0)[at0] = best;\n    PEL_AT(pel_i64, 1)[at1] = found;\n"
                        "    at0 += call.step[0]; at1 += call.step[1]; at2 += call.step[2];\n  }}\n",
                        memory_type_name(dtype), value_type_name(compared), loaded("best"), loaded("x"),
                        IsMax ? ">=" : "<=")};
  });
  launch_scan(args, function);
}
Support supports_extremes(const KernelArgs& args) {
  if (dtype_of(output(args, 0)) != dtype_of(input(args, 0))) return Support::no("the dtypes differ");
  return supports_memory(args);
}

}  // namespace

KernelLists generator_kernels() {
  static const auto kArange = std::to_array<Kernel>({{"arange_text", supports_arange, run_arange}});
  static const auto kLinspace = std::to_array<Kernel>({{"linspace_text", into_row_major, run_linspace}});
  static const auto kEye = std::to_array<Kernel>({{"eye_text", into_row_major, run_eye}});
  static const auto kOneHot = std::to_array<Kernel>({{"one_hot_text", supports_one_hot, run_one_hot}});
  static const auto kSum = std::to_array<Kernel>({{"scan_sum_text", supports_scan, run_scan<false>}});
  static const auto kProduct = std::to_array<Kernel>({{"scan_product_text", supports_scan, run_scan<true>}});
  static const auto kMax = std::to_array<Kernel>({{"scan_max_text", supports_extremes, run_extremes<true>}});
  static const auto kMin = std::to_array<Kernel>({{"scan_min_text", supports_extremes, run_extremes<false>}});
  static const auto kLists = std::to_array<BackendKernels>({{"arange", kArange},
                                                            {"linspace", kLinspace},
                                                            {"eye", kEye},
                                                            {"one_hot", kOneHot},
                                                            {"cumsum", kSum},
                                                            {"cumprod", kProduct},
                                                            {"cummax", kMax},
                                                            {"cummin", kMin}});
  return kLists;
}

}  // namespace pel::grid

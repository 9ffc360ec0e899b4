// From the table of prebuilt code to the kernel lists of elementwise and row ops.
#include <cstring>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows/rows.h"
#include "dispatch/op_table.h"
#include "dispatch/registry.h"

namespace pel::cpu {
namespace {

// Never destroyed, and never moved: kernels point into it.
struct Loaded {
  std::deque<LoopCode> codes;
  std::deque<std::string> names;
  std::deque<RowCode> rows;
  std::deque<std::vector<Kernel>> lists;
  LoopCode* casts[kDTypeCount][kDTypeCount] = {};
};
Loaded& loaded() {
  static Loaded* const instance = new Loaded;
  return *instance;
}

// Most used first: the list is searched in this order.
constexpr DType kOrder[] = {kF32, kBF16, kF16, kF64, kI64, kI32, kBool, kU8, kI8, kI16};

LoopCode* load(const std::string& kernel, codegen::Isa isa) {
  const PrebuiltKernel* prebuilt = find_prebuilt(kernel, isa);
  if (prebuilt == nullptr) return nullptr;
  Loaded& all = loaded();
  LoopCode& code = all.codes.emplace_back();
  code.name = all.names.emplace_back(fmt::format("{}_{}", kernel, codegen::name(isa))).c_str();
  code.function = prebuilt->function;
  code.grain = grain_of(static_cast<double>(prebuilt->cost));
  return &code;
}

void load_op(const Op& op, codegen::Isa isa, std::vector<Kernel>& list) {
  const Pointwise& info = *op.pointwise();
  for (std::size_t formula = 0; formula < info.formulas.size(); ++formula) {
    for (const DType dtype : kOrder) {
      if (!info.computes.contains(dtype)) continue;
      LoopCode* code = load(kernel_name(op, formula, dtype), isa);
      if (code == nullptr) continue;
      code->input_count = info.input_count;
      code->operands[0] = info.result_dtype(dtype);
      std::fill_n(code->operands + 1, info.input_count, dtype);
      if (info.takes_condition) code->operands[1] = kBool;
      list.push_back(
          {code->name, supports_any, run_loop, DTypeSet{dtype}, static_cast<std::uint8_t>(formula), code});
    }
  }
}

codegen::PelLoopFn* function_of(const std::string& kernel, codegen::Isa isa) {
  const PrebuiltKernel* prebuilt = find_prebuilt(kernel, isa);
  return prebuilt == nullptr ? nullptr : prebuilt->function;
}

codegen::PelRunsFn* runs_of(const std::string& kernel, codegen::Isa isa) {
  const PrebuiltKernel* prebuilt = find_prebuilt(kernel, isa);
  return prebuilt == nullptr ? nullptr : prebuilt->runs;
}

// Returns the inputs that a loop reads.
std::uint64_t reads_of(const std::string& kernel, codegen::Isa isa) {
  const PrebuiltKernel* prebuilt = find_prebuilt(kernel, isa);
  return prebuilt == nullptr ? 0 : prebuilt->reads;
}

void load_rows(const Op& op, std::size_t program, codegen::Isa isa, std::vector<Kernel>& list) {
  const RowProgram& info = op.rows()->programs[program];
  for (const DType dtype : kOrder) {
    if (!info.computes.contains(dtype)) continue;
    const auto loop = [&](std::string_view part, std::size_t number) {
      return function_of(row_loop_name(op, program, dtype, part, number), isa);
    };
    RowCode& code = loaded().rows.emplace_back();
    code.name =
        loaded()
            .names.emplace_back(fmt::format("{}_{}", row_kernel_name(op, program, dtype), codegen::name(isa)))
            .c_str();
    code.value = info.value_type(dtype);
    code.input_count = info.input_count;
    for (int i = 0; i < info.input_count; ++i) code.inputs[i] = info.stored_input(i, dtype);
    code.saved_fold = info.keeps;
    for (std::size_t f = 0; f < info.folds.size(); ++f) {
      const FoldKind kind = info.folds[f].kind;
      const bool folds = info.folds[f].element != nullptr;
      code.folds.push_back({loop(kFoldLoop, f), loop(kAccumulateLoop, f), loop(kElementLoop, f),
                            loop(kFinishLoop, f), function_of(fold_name(kind, code.value), isa),
                            folds ? function_of(combine_name(kind, code.value), isa) : nullptr,
                            initial_bits(kind, code.value),
                            reads_of(row_loop_name(op, program, dtype, kFoldLoop, f), isa) |
                                reads_of(row_loop_name(op, program, dtype, kElementLoop, f), isa)});
    }
    for (std::size_t o = 0; o < info.outputs.size(); ++o)
      code.outputs.push_back({info.outputs[o].kind, info.stored_output(o, dtype), loop(kOutputLoop, o),
                              reads_of(row_loop_name(op, program, dtype, kOutputLoop, o), isa),
                              runs_of(row_loop_name(op, program, dtype, kOutputLoop, o), isa)});
    list.push_back(
        {code.name, supports_any, run_rows, DTypeSet{dtype}, static_cast<std::uint8_t>(program), &code});
  }
}

}  // namespace

const LoopCode* cast_loop(DType from, DType to) {
  return loaded().casts[static_cast<int>(from)][static_cast<int>(to)];
}

std::int64_t grain_of(double cycles_per_element) {
  constexpr double kCycles = 8'000;   // about 2.5 µs
  constexpr std::int64_t kUnit = 64;  // threads write to cache lines of their own
  return (static_cast<std::int64_t>(kCycles / cycles_per_element) / kUnit + 1) * kUnit;
}

void register_pointwise() {
  if (const std::optional<codegen::Isa> isa = active_isa()) register_pointwise(*isa);
}

void register_pointwise(codegen::Isa isa) {
  Loaded& all = loaded();
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      LoopCode* code = a == b ? nullptr : load(cast_name(a, b), isa);
      if (code == nullptr) continue;
      code->input_count = 1;
      code->operands[0] = b;
      code->operands[1] = a;
      all.casts[from][to] = code;
    }
  }
  std::vector<BackendKernels> lists;
  for (const Op& op : builtin_ops) {
    if (op.pointwise() == nullptr && op.rows() == nullptr) continue;
    if (is_further_form(op.name())) continue;
    std::vector<Kernel>& list = all.lists.emplace_back();
    if (op.pointwise() != nullptr) load_op(op, isa, list);
    for (std::size_t p = 0; op.rows() != nullptr && p < op.rows()->programs.size(); ++p)
      load_rows(op, p, isa, list);
    lists.push_back({op.name(), list});
  }
  Registry::register_backend(DeviceType::Cpu, lists);
}

}  // namespace pel::cpu

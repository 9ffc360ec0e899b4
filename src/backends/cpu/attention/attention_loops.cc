#include "backends/cpu/attention/attention_loops.h"

#include <array>

#include <fmt/format.h>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "base/check.h"
#include "dispatch/attention_formulas.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::cpu {
namespace {

constexpr DType kDTypes[] = {kF32, kF64, kF16, kBF16};

std::string loop_name(std::string_view what, DType dtype) {
  return fmt::format("attention_{}_{}", what, name(dtype));
}

}  // namespace

std::vector<AttentionLoop> attention_loops() {
  std::vector<AttentionLoop> loops;
  for (const DType dtype : kDTypes) {
    const DType type = value_type(dtype);
    loops.push_back({loop_name("add_mask", dtype), attention_formulas::add_mask(type, dtype), {}});
    loops.push_back({loop_name("weights", dtype), attention_formulas::weights(dtype),
                     codegen::Fold{combine_expr(FoldKind::Sum, type), initial_bits(FoldKind::Sum, type)},
                     true});
    loops.push_back({loop_name("finish", dtype), attention_formulas::finish(dtype), {}, true});
    if (type != dtype) continue;
    for (const FoldKind kind : {FoldKind::Max, FoldKind::Min})
      loops.push_back({fold_name(kind, type), value_expr(type),
                       codegen::Fold{combine_expr(kind, type), initial_bits(kind, type)}, true});
    loops.push_back({loop_name("choose", type), attention_formulas::choose(type), {}});
    loops.push_back({loop_name("decay", type), attention_formulas::decay(type), {}});
    loops.push_back({loop_name("logsumexp", type), attention_formulas::logsumexp(type), {}});
  }
  return loops;
}

const AttentionCode& attention_code(DType dtype) {
  static const auto kAll = [] {
    std::array<AttentionCode, kDTypeCount> all{};
    const auto find = [](const std::string& name) { return find_prebuilt(name, *active_isa())->function; };
    const auto find_runs = [](const std::string& name) { return find_prebuilt(name, *active_isa())->runs; };
    for (const DType d : kDTypes) {
      const DType type = value_type(d);
      all[static_cast<std::size_t>(d)] = {
          .add_mask = find(loop_name("add_mask", d)),
          .choose = find(loop_name("choose", type)),
          .row_max = find_runs(fold_name(FoldKind::Max, type)),
          .row_min = find_runs(fold_name(FoldKind::Min, type)),
          .weights = find_runs(loop_name("weights", d)),
          .decay = find(loop_name("decay", type)),
          .scale = find(kernel_name(op<"mul">(), 0, type)),
          .finish = find_runs(loop_name("finish", d)),
          .logsumexp = find(loop_name("logsumexp", type)),
      };
    }
    return all;
  }();
  return kAll[static_cast<std::size_t>(dtype)];
}

}  // namespace pel::cpu

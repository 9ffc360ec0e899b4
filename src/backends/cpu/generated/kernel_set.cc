#include "backends/cpu/generated/kernel_set.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "dispatch/op_table.h"

namespace pel::cpu {
namespace {

bool same_but_for_sign(const scalar::ScalarExpr& a, const scalar::ScalarExpr& b) {
  const auto width = [](DType type) { return type == kU8 ? kI8 : type; };
  return a.results == b.results && std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                                              [&](scalar::ScalarNode x, scalar::ScalarNode y) {
                                                x.type = width(x.type);
                                                y.type = width(y.type);
                                                return x == y;
                                              });
}

// Returns the type that the code is generated for: bytes that are only added, multiplied or masked have no
// sign.
DType code_type(const Pointwise& info, std::size_t formula, DType compute) {
  if (compute != kU8 || !info.computes.contains(kI8)) return compute;
  const scalar::ScalarExpr expr = make_expr(info, formula, kU8);
  return is_sign_agnostic(expr) && same_but_for_sign(expr, make_expr(info, formula, kI8)) ? kI8 : kU8;
}

scalar::ScalarExpr cast_expr(DType from, DType to) {
  scalar::ScalarBuilder builder;
  const scalar::Term result = cast(builder.input(from), to);
  return builder.finish({&result, 1});
}

// Calls add(name, expression) for each loop of a row op.
template <class Add>
void add_row_loops(const Op& op, std::size_t program, Add&& add) {
  const RowProgram& rows = op.rows()->programs[program];
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (!rows.computes.contains(dtype)) continue;
    const DType type = rows.value_type(dtype);
    for (std::size_t f = 0; f < rows.folds.size(); ++f) {
      const FoldKind kind = rows.folds[f].kind;
      if (rows.folds[f].finish)
        add(row_loop_name(op, program, dtype, kFinishLoop, f), finish_expr(rows, f, dtype));
      if (!rows.folds[f].element) continue;
      if (static_cast<int>(f) == rows.keeps) {
        add(row_loop_name(op, program, dtype, kElementLoop, f), element_expr(rows, f, dtype));
      } else {
        KernelSpec& fold = add(row_loop_name(op, program, dtype, kFoldLoop, f), element_expr(rows, f, dtype));
        fold.fold = codegen::Fold{combine_expr(kind, type), initial_bits(kind, type)};
        fold.repeated = ((std::uint64_t{1} << f) - 1) << rows.input_count;  // values of the row
        add(row_loop_name(op, program, dtype, kAccumulateLoop, f), accumulate_expr(rows, f, dtype));
      }
      add(combine_name(kind, type), combine_expr(kind, type));
      add(fold_name(kind, type), value_expr(type)).fold =
          codegen::Fold{combine_expr(kind, type), initial_bits(kind, type)};
    }
    for (std::size_t o = 0; o < rows.outputs.size(); ++o) {
      if (rows.outputs[o].kind != RowOutput::Kind::Index)
        add(row_loop_name(op, program, dtype, kOutputLoop, o), output_expr(rows, o, dtype)).has_runs =
            rows.outputs[o].kind == RowOutput::Kind::Row;
    }
  }
}

// Loops of different row ops are often equal: they share one code.
void share_code(std::map<std::string, KernelSpec>& specs) {
  std::map<std::string, std::string> by_content;
  for (auto& [name, spec] : specs) {
    if (spec.code != name) continue;
    spec.code = by_content.emplace(spec.content(), name).first->second;
  }
  // Specs that used a code that is now shared are redirected.
  for (auto& [name, spec] : specs) spec.code = specs[spec.code].code;
}

}  // namespace

std::uint64_t KernelSpec::reads() const {
  std::uint64_t inputs = 0;
  for (const scalar::ScalarNode& node : body.nodes) {
    if (node.op == scalar::ScalarOp::Input) inputs |= std::uint64_t{1} << node.bits;
  }
  return inputs;
}

std::string KernelSpec::content() const {
  std::string text = scalar::content(body);
  if (fold) text += fmt::format("fold {} {}", scalar::content(fold->combine), fold->initial_bits);
  if (has_runs) text += "runs";
  if ((repeated | dense) != 0) text += fmt::format("repeated {} dense {}", repeated, dense);
  return text;
}

codegen::LoopKernel KernelSpec::lower(codegen::Isa isa) const {
  codegen::LoopKernel kernel = fold ? codegen::lower_fold(symbol(name, isa), body, *fold)
                                    : codegen::lower_pointwise(symbol(name, isa), body, isa);
  kernel.has_runs = has_runs;
  kernel.repeated = repeated;
  kernel.dense = dense;
  return kernel;
}

std::string symbol(std::string_view kernel, codegen::Isa isa) {
  return fmt::format("pel_{}_{}", kernel, codegen::name(isa));
}

std::string kernel_name(const Op& op, std::size_t formula, DType compute) {
  const std::string& suffix = op.pointwise()->formulas[formula].suffix;
  return fmt::format("{}{}{}_{}", op.name(), suffix.empty() ? "" : "_", suffix, name(compute));
}
std::string cast_name(DType from, DType to) { return fmt::format("cast_{}_{}", name(from), name(to)); }
std::string row_kernel_name(const Op& op, std::size_t program, DType compute) {
  const std::string& suffix = op.rows()->programs[program].suffix;
  return fmt::format("{}{}{}_{}", op.name(), suffix.empty() ? "" : "_", suffix, name(compute));
}
std::string row_loop_name(const Op& op, std::size_t program, DType compute, std::string_view part,
                          std::size_t number) {
  return fmt::format("{}_{}{}", row_kernel_name(op, program, compute), part, number);
}
std::string gemm_finish_name(DType dtype) { return fmt::format("gemm_finish_{}", name(dtype)); }
std::string fold_name(FoldKind kind, DType type) { return fmt::format("fold_{}_{}", name(kind), name(type)); }
std::string combine_name(FoldKind kind, DType type) {
  return fmt::format("combine_{}_{}", name(kind), name(type));
}

std::vector<KernelSpec> kernel_set() {
  std::map<std::string, KernelSpec> specs;
  const auto add = [&](const std::string& kernel, scalar::ScalarExpr body) -> KernelSpec& {
    return specs[kernel] = KernelSpec{kernel, kernel, std::move(body), std::nullopt, false};
  };
  for (const Op* op : all_ops()) {
    if (op->pointwise() == nullptr || is_further_form(op->name())) continue;
    const Pointwise& info = *op->pointwise();
    for (std::size_t f = 0; f < info.formulas.size(); ++f) {
      for (int d = 0; d < kDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (!info.computes.contains(dtype)) continue;
        add(kernel_name(*op, f, dtype), make_expr(info, f, dtype)).code =
            kernel_name(*op, f, code_type(info, f, dtype));
      }
    }
  }
  for (const Op* op : all_ops()) {
    if (op->rows() == nullptr || is_further_form(op->name())) continue;
    for (std::size_t p = 0; p < op->rows()->programs.size(); ++p) add_row_loops(*op, p, add);
  }
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    add(gemm_finish_name(dtype), gemm_finish_expr(dtype));
  }
  for (LinearLoop& loop : linear_finish_loops()) add(loop.name, std::move(loop.body));
  for (AttentionLoop& loop : attention_loops()) {
    KernelSpec& spec = add(loop.name, std::move(loop.body));
    spec.fold = std::move(loop.fold);
    spec.has_runs = loop.has_runs;
  }
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      if (a != b) add(cast_name(a, b), cast_expr(a, b));
    }
  }
  share_code(specs);
  std::vector<KernelSpec> result;
  for (auto& [name, spec] : specs) result.push_back(std::move(spec));
  return result;
}

}  // namespace pel::cpu

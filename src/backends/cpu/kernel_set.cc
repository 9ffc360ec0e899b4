#include "backends/cpu/kernel_set.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dispatch/op_table.h"
#include "dispatch/reduction.h"

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

// The type that the code is made for: bytes that are only added, multiplied or masked have no sign.
DType code_type(const Pointwise& facts, std::size_t formula, DType compute) {
  if (compute != kU8 || !facts.computes.contains(kI8)) return compute;
  const scalar::ScalarExpr expr = make_expr(facts, formula, kU8);
  return is_sign_agnostic(expr) && same_but_for_sign(expr, make_expr(facts, formula, kI8)) ? kI8 : kU8;
}

scalar::ScalarExpr cast_expr(DType from, DType to) {
  scalar::ScalarBuilder builder;
  const scalar::Term result = cast(builder.input(from), to);
  return builder.finish({&result, 1});
}

}  // namespace

codegen::LoopKernel KernelSpec::lower(codegen::Isa isa) const {
  return fold ? codegen::lower_fold(symbol(name, isa), body, *fold)
              : codegen::lower_pointwise(symbol(name, isa), body, isa);
}

std::string symbol(std::string_view kernel, codegen::Isa isa) {
  return fmt::format("pel_{}_{}", kernel, codegen::name(isa));
}

std::string kernel_name(const Op& op, std::size_t formula, DType compute) {
  const std::string& suffix = op.pointwise()->formulas[formula].suffix;
  return fmt::format("{}{}{}_{}", op.name(), suffix.empty() ? "" : "_", suffix, name(compute));
}
std::string cast_name(DType from, DType to) { return fmt::format("cast_{}_{}", name(from), name(to)); }
std::string fold_name(std::string_view op, DType from) { return fmt::format("{}_{}", op, name(from)); }

std::vector<KernelSpec> kernel_set() {
  std::map<std::string, KernelSpec> specs;
  const auto add = [&](const std::string& kernel, scalar::ScalarExpr body) -> KernelSpec& {
    return specs[kernel] = KernelSpec{kernel, kernel, std::move(body), std::nullopt};
  };
  for (const Op* op : all_ops()) {
    if (op->pointwise() == nullptr || is_further_form(op->name())) continue;
    const Pointwise& facts = *op->pointwise();
    for (std::size_t f = 0; f < facts.formulas.size(); ++f) {
      for (int d = 0; d < kDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (!facts.computes.contains(dtype)) continue;
        add(kernel_name(*op, f, dtype), make_expr(facts, f, dtype)).code =
            kernel_name(*op, f, code_type(facts, f, dtype));
      }
    }
  }
  for (const Op* op : all_ops()) {
    const Reduction* facts = op->reduction();
    for (int d = 0; facts != nullptr && d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      const DType value = facts->value_type(dtype);
      if (facts->takes.contains(dtype))
        add(fold_name(op->name(), dtype), element_expr(*facts, dtype)).fold =
            codegen::Fold{combine_expr(*facts, value), initial_bits(*facts, value)};
    }
  }
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      if (a != b) add(cast_name(a, b), cast_expr(a, b));
    }
  }
  std::vector<KernelSpec> result;
  for (auto& [name, spec] : specs) result.push_back(std::move(spec));
  return result;
}

const PrebuiltKernel* find_prebuilt(std::string_view name) {
  const PrebuiltKernel* end = kPrebuiltKernels + kPrebuiltKernelCount;
  const PrebuiltKernel* found = std::lower_bound(
      kPrebuiltKernels, end, name,
      [](const PrebuiltKernel& kernel, std::string_view wanted) { return kernel.name < wanted; });
  return found != end && found->name == name ? found : nullptr;
}

}  // namespace pel::cpu

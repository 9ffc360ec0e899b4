#include "backends/cpu/kernel_set.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dispatch/reduction.h"

namespace pel::cpu {
namespace {

std::string_view name_of(DType dtype) { return name(dtype); }

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
  std::string symbol = fmt::format("pel_{}_{}", name, codegen::name(isa));
  return fold ? codegen::lower_fold(std::move(symbol), body, *fold)
              : codegen::lower_pointwise(std::move(symbol), body, isa);
}

std::string kernel_name(const Op& op, std::size_t formula, DType compute) {
  const Pointwise& facts = *op.pointwise();
  const std::string& suffix = facts.formulas[formula].suffix;
  return fmt::format("{}{}{}_{}", op.name(), suffix.empty() ? "" : "_", suffix,
                     name_of(code_type(facts, formula, compute)));
}
std::string cast_name(DType from, DType to) { return fmt::format("cast_{}_{}", name_of(from), name_of(to)); }
std::string fold_name(std::string_view op, DType from) { return fmt::format("{}_{}", op, name_of(from)); }

std::vector<KernelSpec> kernel_set() {
  std::map<std::string, KernelSpec> specs;
  const auto add = [&](std::string name, scalar::ScalarExpr body, std::optional<codegen::Fold> fold = {}) {
    specs.insert({name, KernelSpec{name, std::move(body), std::move(fold)}});
  };
  for (const Op* op : all_ops()) {
    if (op->pointwise() == nullptr || op->name().ends_with('_') || op->name().ends_with(".out")) continue;
    const Pointwise& facts = *op->pointwise();
    for (std::size_t f = 0; f < facts.formulas.size(); ++f) {
      for (int d = 0; d < kDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (facts.computes.contains(dtype))
          add(kernel_name(*op, f, dtype), make_expr(facts, f, code_type(facts, f, dtype)));
      }
    }
  }
  for (const Op* op : all_ops()) {
    const Reduction* facts = op->reduction();
    for (int d = 0; facts != nullptr && d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      const DType value = facts->value_type(dtype);
      if (facts->takes.contains(dtype))
        add(fold_name(op->name(), dtype), element_expr(*facts, dtype),
            codegen::Fold{combine_expr(*facts, value), initial_bits(*facts, value)});
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

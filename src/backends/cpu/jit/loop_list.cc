#include "backends/cpu/jit/loop_list.h"

#include <algorithm>

#include <fmt/format.h>

#include "pellucid/profile.h"

#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/kernels.h"
#include "base/check.h"

namespace pel::cpu {
namespace {

codegen::PelLoopFn* prebuilt(const std::string& name, codegen::Isa isa) {
  const PrebuiltKernel* found = find_prebuilt(name, isa);
  PEL_CHECK(found != nullptr, InternalError, "there is no prebuilt loop named {}", name);
  return found->function;
}

}  // namespace

LoopList::LoopList(const std::vector<LoopSource>& sources, codegen::Isa isa) : isa_(isa) {
  for (const LoopSource& source : sources) {
    const char* const name = interned(fmt::format("{}_{}", source.name, codegen::name(isa)));
    if (source.rows) {
      RowCode& code = loops_->rows.emplace_back();
      code.name = name;
      fill_rows(code, source.name, *source.rows);
      result_.kernels.push_back({name, supports_any, run_rows, kAllDTypes, 0, &code});
    } else if (source.gemm) {
      FusedGemmCode& code = loops_->gemms.emplace_back();
      code = {.name = name, .loop = nullptr, .dtype = source.gemm->dtype, .sums = source.gemm->sums};
      add({.name = source.name, .body = source.body}, &code.loop);
      result_.kernels.push_back(fused_gemm_kernel(code));
    } else {
      LoopCode& code = loops_->codes.emplace_back();
      code.name = name;
      fill_loop(code, source.name, source.body);
      result_.kernels.push_back({name, supports_any, run_fused_loop, kAllDTypes, 0, &code});
    }
  }
}

CompiledLoops LoopList::finish(codegen::CompiledKernels compiled) && {
  for (const auto& [to, kernel] : requests_) *to = compiled[kernel];
  loops_->compiled = std::move(compiled);
  result_.code = std::move(loops_);
  return std::move(result_);
}

const codegen::LoopKernel& LoopList::add(const KernelSpec& spec, codegen::PelLoopFn** to) {
  const auto [known, is_new] = by_content_.emplace(spec.content(), kernels_.size());
  if (is_new) kernels_.push_back(spec.lower(isa_));
  requests_.emplace_back(to, known->second);
  return kernels_[known->second];
}

void LoopList::fill_loop(LoopCode& code, const std::string& name, const scalar::ScalarExpr& body) {
  PEL_CHECK(body.results.size() + body.inputs.size() <= kMaxLoopOperands, InternalError,
            "a fused loop may have at most {} operands", kMaxLoopOperands);
  const KernelSpec spec{.name = name, .body = body};
  code.grain = grain_of(codegen::cost_per_element(add(spec, &code.function), isa_));
  code.output_count = static_cast<int>(body.results.size());
  code.input_count = static_cast<int>(body.inputs.size());
  DType* next = code.operands;
  for (const std::int32_t result : body.results) *next++ = body.nodes[static_cast<std::size_t>(result)].type;
  for (const DType input : body.inputs) *next++ = input;
}

void LoopList::fill_rows(RowCode& code, const std::string& name, const RowLoops& rows) {
  PEL_CHECK(rows.inputs.size() <= kMaxRowInputs && rows.outputs.size() <= kMaxRowOutputs &&
                rows.folds.size() <= kMaxRowFolds && rows.stages.size() <= kMaxRowStages,
            InternalError, "a fused row op exceeds the limits of the row driver");
  code.value = rows.value;
  code.input_count = static_cast<int>(rows.inputs.size());
  std::copy(rows.inputs.begin(), rows.inputs.end(), code.inputs);
  const std::size_t elements = rows.inputs.size() + rows.stages.size();  // then values, one per row
  const bool by_rows = std::ranges::none_of(
      rows.folds, [](const RowLoops::Fold& fold) { return fold.accumulate.has_value(); });
  // Sized in advance, because the list stores addresses of the functions.
  code.stages.resize(rows.stages.size());
  code.folds.resize(rows.folds.size());
  code.outputs.resize(rows.outputs.size());
  const auto add_loop = [&](std::string_view part, std::size_t number, const scalar::ScalarExpr& body,
                            codegen::PelLoopFn*& to, std::optional<codegen::Fold> fold = std::nullopt) {
    KernelSpec spec{
        .name = fmt::format("{}_{}{}", name, part, number), .body = body, .fold = std::move(fold)};
    const bool is_of_row =
        part == kFinishLoop || (part == kOutputLoop && rows.outputs[number].kind == RowOutput::Kind::Value);
    if (by_rows && !is_of_row) {
      spec.repeated = ~std::uint64_t{0} << elements;
      spec.dense = ((std::uint64_t{1} << elements) - 1) & (~std::uint64_t{0} << rows.inputs.size());
    }
    add(spec, &to);
    // Loops also read values, which are always passed.
    return spec.reads() & ((std::uint64_t{1} << elements) - 1);
  };
  for (std::size_t i = 0; i < rows.stages.size(); ++i) {
    const RowLoops::Stage& stage = rows.stages[i];
    RowCode::Stage& result = code.stages[i];
    result.function = nullptr;
    result.reads = 0;
    result.dtype = stage.dtype;
    result.after = stage.after;
    result.output = stage.output;
    if (stage.body) result.reads = add_loop("stage", i, *stage.body, result.function);
  }
  for (std::size_t f = 0; f < rows.folds.size(); ++f) {
    const RowLoops::Fold& fold = rows.folds[f];
    RowCode::Fold& result = code.folds[f];
    result = {};
    result.initial_bits = initial_bits(fold.kind, rows.value);
    result.stage = fold.stage;
    if (fold.finish) add_loop(kFinishLoop, f, *fold.finish, result.finish);
    if (!fold.element) continue;
    result.reads = add_loop(kFoldLoop, f, *fold.element, result.fold,
                            codegen::Fold{combine_expr(fold.kind, rows.value), result.initial_bits});
    if (fold.accumulate) add_loop(kAccumulateLoop, f, *fold.accumulate, result.accumulate);
    result.fold_values = prebuilt(fold_name(fold.kind, rows.value), isa_);
    result.combine = prebuilt(combine_name(fold.kind, rows.value), isa_);
  }
  for (std::size_t o = 0; o < rows.outputs.size(); ++o) {
    const RowLoops::Output& output = rows.outputs[o];
    RowCode::Output& result = code.outputs[o];
    result = {.kind = output.kind, .dtype = output.dtype, .function = nullptr, .reads = 0, .runs = nullptr};
    if (output.body) result.reads = add_loop(kOutputLoop, o, *output.body, result.function);
  }
}

}  // namespace pel::cpu

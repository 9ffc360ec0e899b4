// Kernels of fused ops, compiled in process.
#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows/rows.h"
#include "base/check.h"
#include "codegen/llvm/jit.h"

namespace pel::cpu {
namespace {

// What the kernels point into.
struct Loops {
  std::deque<std::string> names;
  std::deque<LoopCode> codes;
  std::deque<RowCode> rows;
  std::optional<codegen::CompiledKernels> compiled;
};

// All loops of a graph, each code once: layers of a model are alike.
class LoopList {
 public:
  explicit LoopList(codegen::Isa isa) : isa_(isa) {}

  // Its function is `*to` when all are compiled.
  const codegen::LoopKernel& add(const KernelSpec& spec, codegen::PelLoopFn** to) {
    const auto [known, is_new] = by_content_.emplace(spec.content(), kernels_.size());
    if (is_new) kernels_.push_back(spec.lower(isa_));
    wanted_.emplace_back(to, known->second);
    return kernels_[known->second];
  }

  codegen::CompiledKernels compile() {
    codegen::CompiledKernels compiled = codegen::compile_in_process(kernels_, isa_);
    for (const auto& [to, kernel] : wanted_) *to = compiled[kernel];
    return compiled;
  }

 private:
  codegen::Isa isa_;
  std::vector<codegen::LoopKernel> kernels_;
  std::map<std::string, std::size_t> by_content_;
  std::vector<std::pair<codegen::PelLoopFn**, std::size_t>> wanted_;
};

void fill_loop(LoopCode& code, const std::string& name, const scalar::ScalarExpr& body, codegen::Isa isa,
               LoopList& list) {
  PEL_CHECK(body.results.size() + body.inputs.size() <= kMostLoopOperands, InternalError,
            "a loop has at most {} operands", kMostLoopOperands);
  const KernelSpec spec{.name = name, .body = body};
  code.grain = grain_of(codegen::cost_per_element(list.add(spec, &code.function), isa));
  code.output_count = static_cast<int>(body.results.size());
  code.input_count = static_cast<int>(body.inputs.size());
  DType* next = code.operands;
  for (const std::int32_t result : body.results) *next++ = body.nodes[static_cast<std::size_t>(result)].type;
  for (const DType input : body.inputs) *next++ = input;
}

codegen::PelLoopFn* prebuilt(const std::string& name, codegen::Isa isa) {
  const PrebuiltKernel* found = find_prebuilt(name);
  PEL_CHECK(found != nullptr, InternalError, "there is no loop {}", name);
  return found->function[static_cast<int>(isa)];
}

void fill_rows(RowCode& code, const std::string& name, const RowLoops& rows, codegen::Isa isa,
               LoopList& list) {
  PEL_CHECK(rows.inputs.size() <= kMostRowInputs && rows.outputs.size() <= kMostRowOutputs &&
                rows.folds.size() <= kMostRowFolds && rows.stages.size() <= kMostRowStages,
            InternalError, "a kernel over rows has more parts than there is room for");
  code.value = rows.value;
  code.input_count = static_cast<int>(rows.inputs.size());
  std::copy(rows.inputs.begin(), rows.inputs.end(), code.inputs);
  const std::size_t elements = rows.inputs.size() + rows.stages.size();  // then values, one a row
  const bool by_rows = std::ranges::none_of(
      rows.folds, [](const RowLoops::Fold& fold) { return fold.accumulate.has_value(); });
  // No function moves before all are there.
  code.stages.resize(rows.stages.size());
  code.folds.resize(rows.folds.size());
  code.outputs.resize(rows.outputs.size());
  const auto add = [&](std::string_view part, std::size_t number, const scalar::ScalarExpr& body,
                       codegen::PelLoopFn*& to, std::optional<codegen::Fold> fold = std::nullopt) {
    KernelSpec spec{
        .name = fmt::format("{}_{}{}", name, part, number), .body = body, .fold = std::move(fold)};
    const bool is_of_row =
        part == kFinishLoop || (part == kOutputLoop && rows.outputs[number].kind == RowOutput::Kind::Value);
    if (by_rows && !is_of_row) {
      spec.repeated = ~std::uint64_t{0} << elements;
      spec.dense = ((std::uint64_t{1} << elements) - 1) & (~std::uint64_t{0} << rows.inputs.size());
    }
    list.add(spec, &to);
    // Beside elements, loops read values, which they are always given.
    return spec.reads() & ((std::uint64_t{1} << elements) - 1);
  };
  for (std::size_t i = 0; i < rows.stages.size(); ++i) {
    const RowLoops::Stage& stage = rows.stages[i];
    RowCode::Stage& made = code.stages[i];
    made.function = nullptr;
    made.reads = 0;
    made.dtype = stage.dtype;
    made.after = stage.after;
    made.output = stage.output;
    if (stage.body) made.reads = add("stage", i, *stage.body, made.function);
  }
  for (std::size_t f = 0; f < rows.folds.size(); ++f) {
    const RowLoops::Fold& fold = rows.folds[f];
    RowCode::Fold& made = code.folds[f];
    made = {};
    made.initial_bits = initial_bits(fold.kind, rows.value);
    made.stage = fold.stage;
    if (fold.finish) add(kFinishLoop, f, *fold.finish, made.finish);
    if (!fold.element) continue;
    made.reads = add(kFoldLoop, f, *fold.element, made.fold,
                     codegen::Fold{combine_expr(fold.kind, rows.value), made.initial_bits});
    if (fold.accumulate) add(kAccumulateLoop, f, *fold.accumulate, made.accumulate);
    made.fold_values = prebuilt(fold_name(fold.kind, rows.value), isa);
    made.combine = prebuilt(combine_name(fold.kind, rows.value), isa);
  }
  for (std::size_t o = 0; o < rows.outputs.size(); ++o) {
    const RowLoops::Output& output = rows.outputs[o];
    RowCode::Output& made = code.outputs[o];
    made = {.kind = output.kind, .dtype = output.dtype, .function = nullptr, .reads = 0, .runs = nullptr};
    if (output.body) made.reads = add(kOutputLoop, o, *output.body, made.function);
  }
}

CompiledLoops compile_loops(const std::vector<LoopSource>& sources) {
  const std::optional<codegen::Isa> isa = active_isa();
  PEL_CHECK(isa, InternalError, "loops are compiled for AVX2 and AVX-512, and this processor has neither");
  const auto loops = std::make_shared<Loops>();
  LoopList list(*isa);
  CompiledLoops result;
  for (const LoopSource& source : sources) {
    const char* const name =
        loops->names.emplace_back(fmt::format("{}_{}", source.name, codegen::name(*isa))).c_str();
    if (source.rows) {
      RowCode& code = loops->rows.emplace_back();
      code.name = name;
      fill_rows(code, source.name, *source.rows, *isa, list);
      result.kernels.push_back({name, supports_any, run_rows, kAllDTypes, 0, &code});
    } else {
      LoopCode& code = loops->codes.emplace_back();
      code.name = name;
      fill_loop(code, source.name, source.body, *isa, list);
      result.kernels.push_back({name, supports_any, run_fused_loop, kAllDTypes, 0, &code});
    }
  }
  loops->compiled = list.compile();
  result.code = loops;
  return result;
}

}  // namespace

void register_loop_compiler() {
  if (active_isa()) set_loop_compiler(DeviceType::Cpu, compile_loops);
}

}  // namespace pel::cpu

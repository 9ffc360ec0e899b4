// Loops of fused ops, compiled in process.
#include <deque>

#include <fmt/format.h>

#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/pointwise.h"
#include "base/check.h"
#include "codegen/llvm/jit.h"

namespace pel::cpu {
namespace {

// What the kernels point into.
struct Loops {
  std::deque<std::string> names;
  std::deque<LoopCode> codes;
  std::vector<codegen::CompiledKernels> compiled;
};

CompiledLoops compile_loops(const std::vector<LoopSource>& sources) {
  const std::optional<codegen::Isa> isa = active_isa();
  PEL_CHECK(isa, InternalError, "loops are compiled for AVX2 and AVX-512, and this processor has neither");
  const auto loops = std::make_shared<Loops>();
  std::vector<codegen::LoopKernel> lowered;
  for (const LoopSource& source : sources) {
    const scalar::ScalarExpr& body = source.body;
    PEL_CHECK(body.results.size() + body.inputs.size() <= kMostLoopOperands, InternalError,
              "a loop has at most {} operands", kMostLoopOperands);
    lowered.push_back(codegen::lower_pointwise(source.name, body, *isa));
    LoopCode& code = loops->codes.emplace_back();
    code.name = loops->names.emplace_back(fmt::format("{}_{}", source.name, codegen::name(*isa))).c_str();
    code.grain = grain_of(codegen::cost_per_element(lowered.back(), *isa));
    code.output_count = static_cast<int>(body.results.size());
    code.input_count = static_cast<int>(body.inputs.size());
    DType* next = code.operands;
    for (const std::int32_t result : body.results)
      *next++ = body.nodes[static_cast<std::size_t>(result)].type;
    for (const DType input : body.inputs) *next++ = input;
  }
  loops->compiled.push_back(codegen::compile_in_process(lowered, *isa));
  CompiledLoops result;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    LoopCode& code = loops->codes[i];
    code.function = loops->compiled[0][i];
    result.kernels.push_back({code.name, supports_any, run_fused_loop, kAllDTypes, 0, &code});
  }
  result.code = loops;
  return result;
}

}  // namespace

void register_loop_compiler() {
  if (active_isa()) set_loop_compiler(DeviceType::Cpu, compile_loops);
}

}  // namespace pel::cpu

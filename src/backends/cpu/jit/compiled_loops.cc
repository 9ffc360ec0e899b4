// Kernels of fused ops, compiled in process, and for files.
#include "backends/cpu/isa.h"
#include "backends/cpu/jit/loop_list.h"
#include "backends/cpu/jit/saved_loops.h"
#include "base/check.h"
#include "codegen/llvm/jit.h"

namespace pel::cpu {
namespace {

CompiledLoops compile_loops(const std::vector<LoopSource>& sources) {
  const std::optional<codegen::Isa> isa = active_isa();
  PEL_CHECK(isa, InternalError, "compiled loops need AVX2 or AVX-512, and this processor has neither");
  LoopList list(sources, *isa);
  codegen::CompiledKernels compiled = codegen::compile_in_process(list.kernels(), *isa);
  return std::move(list).finish(std::move(compiled));
}

std::string save_loops(const std::vector<LoopSource>& sources, std::string_view isa) {
  const std::optional<codegen::Isa> wanted = codegen::isa_named(isa);
  PEL_CHECK(wanted, ValueError, "kernels are compiled for avx2 and avx512, not for {}", isa);
  const LoopList list(sources, *wanted);
  return saved_bytes(list, codegen::compile_to_image(list.kernels(), *wanted));
}

}  // namespace

void register_loop_compiler() {
  if (active_isa()) set_loop_compiler(DeviceType::Cpu, compile_loops);
}

decltype(LoopFiles::save) loop_saver() { return save_loops; }

}  // namespace pel::cpu

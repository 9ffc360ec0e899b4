// The same kernels through LLVM's O3 pipeline and its code generator at full effort.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include "../jit_kernels.h"
#include "../server.h"
#include "backends/cpu/isa.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/target.h"

namespace {

using namespace pel::codegen;

std::unique_ptr<llvm::MemoryBuffer> compile(const std::vector<LoopKernel>& kernels, Isa isa,
                                            llvm::TargetMachine& machine) {
  llvm::LLVMContext context;
  const auto module = emit_module(context, kernels, isa, Linkage::IntoProcess);
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple().str());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*module, modules);
  return compile_object(machine, *module);
}

}  // namespace

int main(int argc, char** argv) {
  const auto isa = pel::cpu::best_isa().value();
  const auto one = bench::some_kernels(1, isa), fifty = bench::some_kernels(50, isa);
  const auto machine = make_target_machine(isa);
  machine->setOptLevel(llvm::CodeGenOptLevel::Aggressive);
  return bench::serve(argc, argv,
                      {{"one_kernel", [&] { return compile(one, isa, *machine); }},
                       {"fifty_kernels", [&] { return compile(fifty, isa, *machine); }}});
}

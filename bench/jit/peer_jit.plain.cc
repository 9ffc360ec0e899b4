// The same kernels through LLVM's O3 pipeline and its own code generator at full effort, linked by LLJIT.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "../support/server.h"
#include "backends/cpu/isa.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/target.h"
#include "kernels.h"

namespace {

using namespace pel::codegen;

struct Linked {
  llvm::orc::LLJIT* jit;
  llvm::orc::JITDylib* library;
  void* first;
  ~Linked() { llvm::cantFail(jit->getExecutionSession().removeJITDylib(*library)); }
  Linked(llvm::orc::LLJIT* j, llvm::orc::JITDylib* l, void* f) : jit(j), library(l), first(f) {}
  Linked(const Linked&) = delete;
  Linked& operator=(const Linked&) = delete;
};

llvm::orc::LLJIT& linker() {
  static const auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  return *jit;
}

Linked compile(const std::vector<LoopKernel>& kernels, Isa isa, llvm::TargetMachine& machine) {
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
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  passes.run(*module);
  static int number = 0;
  auto& library = llvm::cantFail(linker().createJITDylib("peer" + std::to_string(number++)));
  llvm::cantFail(linker().addObjectFile(
      library, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), false)));
  void* first = llvm::cantFail(linker().lookup(library, kernels[0].name)).toPtr<void*>();
  return Linked(&linker(), &library, first);
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

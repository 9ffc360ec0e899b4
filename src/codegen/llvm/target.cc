#include "codegen/llvm/target.h"

#include <mutex>
#include <string>

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar.h>

#include "base/check.h"

namespace pel::codegen {
namespace {

// Like addPassesToEmitFile, without the passes that gain nothing here: the emitter writes straight-line
// vectors, and the processors reorder them. Saves a quarter of the compile time.
void add_passes(llvm::LLVMTargetMachine& machine, llvm::legacy::PassManager& passes,
                llvm::raw_pwrite_stream& stream) {
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  for (const llvm::AnalysisID unneeded :
       {&llvm::MachineSchedulerID, &llvm::MachineCSEID, &llvm::MachineSinkingID, &llvm::EarlyTailDuplicateID,
        &llvm::TailDuplicateID, &llvm::LiveRangeShrinkID, &llvm::BranchFolderPassID,
        &llvm::MachineCopyPropagationID})
    config->disablePass(unneeded);
  passes.add(config);
  passes.add(module_info);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());  // narrow masked loads and stores, on AVX2
  config->addCodeGenPrepare();
  config->addISelPrepare();
  const bool refused = config->addInstSelector();
  PEL_ASSERT(!refused, "the target must support instruction selection");
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  config->addMachinePasses();
  config->setInitialized();
  const bool has_no_object_writer = machine.addAsmPrinter(
      passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, module_info->getMMI().getContext());
  PEL_ASSERT(!has_no_object_writer, "the target must support object files");
  passes.add(llvm::createFreeMachineFunctionPass());
}

}  // namespace

void set_target(llvm::Function& function, Isa isa) {
  function.addFnAttr("target-cpu", facts(isa).processor);
  if (facts(isa).architecture == Architecture::X86)  // by default LLVM prefers narrower vectors
    function.addFnAttr("prefer-vector-width", std::to_string(8 * vector_bytes(isa)));
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(Isa isa) {
  [[maybe_unused]] static const bool is_initialized = [] {  // as in wire_runtime(), not std::call_once
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(facts(isa).triple, error);
  PEL_ASSERT(target != nullptr, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(facts(isa).triple, facts(isa).processor, "", options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Less));
}

std::unique_ptr<llvm::MemoryBuffer> compile_object(llvm::TargetMachine& machine, llvm::Module& module) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  add_passes(static_cast<llvm::LLVMTargetMachine&>(machine), passes, stream);
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), /*RequiresNullTerminator=*/false);
}

}  // namespace pel::codegen

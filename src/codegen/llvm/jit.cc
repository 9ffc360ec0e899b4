#include "codegen/llvm/jit.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "pellucid/threads.h"

#include "base/check.h"
#include "base/thread_pool.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/target.h"
#include "profile/recorder.h"

namespace pel::codegen {
namespace {

using llvm::orc::LLJIT;

template <class T>
T take(llvm::Expected<T> result) {
  if (!result) throw InternalError("in-process compilation failed: " + llvm::toString(result.takeError()));
  return std::forward<T>(*result);
}
void check(llvm::Error error) {
  if (error) throw InternalError("in-process compilation failed: " + llvm::toString(std::move(error)));
}

// JITLink's memory manager maps a segment writable, fills it, and only then makes it executable.
std::unique_ptr<LLJIT> make_jit() {
  llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(
      llvm::orc::JITTargetMachineBuilder(llvm::Triple("x86_64-unknown-linux-gnu")));
  builder.setObjectLinkingLayerCreator(
      [](llvm::orc::ExecutionSession& session,
         const llvm::Triple&) -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
        auto memory = llvm::jitlink::InProcessMemoryManager::Create();
        if (!memory) return memory.takeError();
        return std::make_unique<llvm::orc::ObjectLinkingLayer>(session, std::move(*memory));
      });
  return take(builder.create());
}

// Never destroyed, because kernels may run until the process ends.
LLJIT& jit() {
  static LLJIT* const instance = [] {
    for (const Isa isa : {Isa::Avx2, Isa::Avx512}) make_target_machine(isa);  // registers the target first
    return make_jit().release();
  }();
  return *instance;
}

// A target machine is not thread-safe; creating one costs less than compiling a kernel.
class Machines {
 public:
  std::unique_ptr<llvm::TargetMachine> take(Isa isa) {
    {
      std::lock_guard lock(mutex_);
      auto& free = free_[static_cast<int>(isa)];
      if (!free.empty()) {
        auto machine = std::move(free.back());
        free.pop_back();
        return machine;
      }
    }
    return make_target_machine(isa);
  }
  void put_back(Isa isa, std::unique_ptr<llvm::TargetMachine> machine) {
    std::lock_guard lock(mutex_);
    free_[static_cast<int>(isa)].push_back(std::move(machine));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> free_[kIsaCount];
};
Machines& machines() {
  static Machines* const instance = new Machines;
  return *instance;
}

std::unique_ptr<llvm::MemoryBuffer> compile_module(const std::vector<LoopKernel>& kernels, Isa isa) {
  auto machine = machines().take(isa);
  llvm::LLVMContext context;
  const auto module = emit_module(context, kernels, isa, Linkage::IntoProcess);
  auto object = compile_object(*machine, *module);
  machines().put_back(isa, std::move(machine));
  return object;
}

// Parts of about equal work, for a thread each.
std::vector<std::vector<LoopKernel>> split(const std::vector<LoopKernel>& kernels) {
  const std::size_t count =
      std::clamp<std::size_t>(kernels.size() / 2, 1, static_cast<std::size_t>(thread_count()));
  std::vector<std::vector<LoopKernel>> parts(count);
  std::vector<std::size_t> work(count);
  for (const LoopKernel& kernel : kernels) {
    const auto lightest = static_cast<std::size_t>(std::ranges::min_element(work) - work.begin());
    parts[lightest].push_back(kernel);
    constexpr std::size_t kAroundBody = 24;  // the loop, loads and stores take as long as so many operations
    work[lightest] += kAroundBody + kernel.body.nodes.size();
  }
  return parts;
}

}  // namespace

CompiledKernels compile_in_process(const std::vector<LoopKernel>& kernels, Isa isa) {
  const profile::CompileSpan span(is_profiling() && !kernels.empty() ? interned(kernels.front().name) : "");
  const std::vector<std::vector<LoopKernel>> parts = split(kernels);
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(parts.size());
  parallel_for(static_cast<std::int64_t>(parts.size()), Grain::whole(),
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                   objects[i] = compile_module(parts[i], isa);
               });

  // Each module has a JITDylib of its own, so names may repeat. It resolves memcpy and fmod
  // in the process.
  static std::atomic<std::uint64_t> next{0};
  LLJIT& linker = jit();
  auto& library = take(linker.createJITDylib("pellucid" + std::to_string(next.fetch_add(1))));
  std::shared_ptr<void> code(&library, [](void* library_pointer) {
    llvm::orc::JITDylib* unloaded = static_cast<llvm::orc::JITDylib*>(library_pointer);
    llvm::consumeError(jit().getExecutionSession().removeJITDylib(*unloaded));
  });
  for (auto& object : objects) check(linker.addObjectFile(library, std::move(object)));
  std::vector<PelLoopFn*> functions;
  for (const LoopKernel& kernel : kernels)
    functions.push_back(take(linker.lookup(library, kernel.name)).toPtr<PelLoopFn*>());
  return {std::move(functions), std::move(code)};
}

}  // namespace pel::codegen

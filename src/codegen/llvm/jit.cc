#include "codegen/llvm/jit.h"

#include <algorithm>
#include <mutex>

#include <emitter_digest.h>  // generated
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include "pellucid/threads.h"

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "codegen/cache/kernel_cache.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/link.h"
#include "codegen/llvm/target.h"
#include "profile/recorder.h"

namespace pel::codegen {
namespace {

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

CodeImage compile(const std::vector<LoopKernel>& kernels, Isa isa) {
  const profile::CompileSpan span(is_profiling() ? interned(kernels.front().name) : "");
  const std::vector<std::vector<LoopKernel>> parts = split(kernels);
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(parts.size());
  parallel_for(static_cast<std::int64_t>(parts.size()), Grain::whole(),
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                   objects[i] = compile_module(parts[i], isa);
               });
  std::vector<std::string> functions;
  for (const LoopKernel& kernel : kernels) functions.push_back(kernel.name);
  return link(objects, functions);
}

// What the code of these kernels depends on: not the number of threads that compile it.
Digest key_of(const std::vector<LoopKernel>& kernels, Isa isa) {
  ByteWriter writer;
  for (const std::string_view part :
       {std::string_view(kEmitterDigest), std::string_view(LLVM_VERSION_STRING), name(isa)})
    writer.text(part);
  for (const LoopKernel& kernel : kernels) writer.text(content(kernel));
  return digest(std::move(writer).bytes());
}

}  // namespace

CodeImage compile_to_image(const std::vector<LoopKernel>& kernels, Isa isa) {
  const Digest key = key_of(kernels, isa);
  if (std::optional<CodeImage> image = find_cached(key)) return *std::move(image);
  CodeImage image = compile(kernels, isa);
  store_cached(key, image);
  return image;
}

CompiledKernels compile_in_process(const std::vector<LoopKernel>& kernels, Isa isa) {
  if (kernels.empty()) return {{}, nullptr};
  return load(compile_to_image(kernels, isa));
}

}  // namespace pel::codegen

#include "dispatch/loop_compiler.h"

#include <array>
#include <atomic>

namespace pel {
namespace {
constinit std::array<std::atomic<LoopCompiler>, kDeviceTypeCount> compilers{};
}  // namespace

void set_loop_compiler(DeviceType device, LoopCompiler compiler) {
  compilers[static_cast<std::size_t>(device)].store(compiler, std::memory_order_release);
}
LoopCompiler loop_compiler(DeviceType device) {
  return compilers[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

}  // namespace pel

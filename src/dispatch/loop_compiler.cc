#include "dispatch/loop_compiler.h"

#include <array>
#include <atomic>

namespace pel {
namespace {
constinit std::array<std::atomic<LoopCompiler>, kDeviceTypeCount> compilers{};
constinit std::array<std::atomic<const LoopFiles*>, kDeviceTypeCount> all_files{};
}  // namespace

void set_loop_compiler(DeviceType device, LoopCompiler compiler) {
  compilers[static_cast<std::size_t>(device)].store(compiler, std::memory_order_release);
}
LoopCompiler loop_compiler(DeviceType device) {
  return compilers[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

void set_loop_files(DeviceType device, const LoopFiles* files) {
  all_files[static_cast<std::size_t>(device)].store(files, std::memory_order_release);
}
const LoopFiles* loop_files(DeviceType device) {
  return all_files[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

}  // namespace pel

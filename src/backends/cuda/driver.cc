#include "backends/cuda/driver.h"

#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace pel::cuda {

std::string load_driver(Driver& driver) {
  const char* const chosen = std::getenv("PELLUCID_CUDA_DRIVER");
  const std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: drivers have threads
  if (library == nullptr) {
    if (path == "libcuda.so.1") return "no driver: libcuda.so.1 is missing";
    return fmt::format("no driver: {}, which PELLUCID_CUDA_DRIVER names, cannot be loaded: {}", path,
                       dlerror());
  }
#define PEL_LOAD(name, types)                                                   \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, #name)); \
  if (driver.name == nullptr) return path + " has no function " #name;
  PEL_EACH_DRIVER_FUNCTION(PEL_LOAD)
#undef PEL_LOAD
  return {};
}

std::string error_text(const Driver& driver, Result status) {
  const char* name = nullptr;
  if (driver.cuGetErrorName(status, &name) != kSuccess || name == nullptr) name = "CUDA error";
  return fmt::format("{} ({})", name, status);
}

bool is_sticky(Result status) {
  // CUDA_ERROR_DEINITIALIZED, DEVICE_UNAVAILABLE, NO_DEVICE, ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE,
  // ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION,
  // MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED, UNKNOWN
  constexpr Result kSticky[] = {4, 46, 100, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
  return std::ranges::find(kSticky, status) != std::end(kSticky);
}

}  // namespace pel::cuda

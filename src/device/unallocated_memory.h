// Addresses of tensors without memory, for kernels that are chosen before a run.
#pragma once

#include "device/async_device.h"

namespace pel {

// Where a storage that has no memory yet begins: only addresses within one storage are compared.
inline std::byte* unallocated_memory(Device device) {
  constexpr std::uintptr_t kBegin = 1 << 20;
  return reinterpret_cast<std::byte*>(is_asynchronous(device) ? kBegin | kAddressBit : kBegin);
}

}  // namespace pel

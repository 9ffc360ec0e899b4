// Copies in host memory of the operands of one call on an asynchronous device, for a kernel of the host.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/tensor.h"

#include "device/ordered_device.h"

namespace pel {

// One copy for each storage, of what the operands span of it, so that operands which share memory do so in
// the copy. Numbers on the host stay where they are.
class HostCopies {
 public:
  // Waits for the device.
  HostCopies(OrderedDevice& device, ArrayView<const Tensor*> tensors, std::size_t outputs, const Site& site);
  void* on_host(void* address) const;
  void write_back() const;  // storages of outputs

 private:
  struct Copy {
    const detail::StorageHeader* storage;
    std::byte* begin = nullptr;  // on the device
    std::byte* end = nullptr;
    bool is_written = false;
    std::unique_ptr<std::byte[]> bytes{};
    std::byte* host = nullptr;  // in `bytes`, aligned as `begin` is
  };
  OrderedDevice& device_;
  std::vector<Copy> copies_;
};

}  // namespace pel

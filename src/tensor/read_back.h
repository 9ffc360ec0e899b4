// Between the host and asynchronous devices. read_back is the only way for the host to read what a kernel on
// a device has written, so that every wait has a reason.
#pragma once

#include <string_view>

#include "pellucid/tensor.h"

namespace pel {

// Returns a tensor that the host can read, with the sizes and strides of `tensor`: itself on the CPU, else a
// copy, which waits for the device. `why` continues "the call waits for queue": "to read an element".
Tensor read_back_slow(const Tensor& tensor, std::string_view why, const Site& site);
inline Tensor read_back(const Tensor& tensor, std::string_view why, const Site& site = {}) {
  constexpr unsigned kOnDevice = detail::StorageHeader::kOnDevice;
  if ((tensor.header()->storage->flags & kOnDevice) == 0) [[likely]]
    return tensor;
  return read_back_slow(tensor, why, site);
}

// Returns a copy on an asynchronous device of a tensor on the CPU that is dense, with the same strides.
Tensor copied_in(const Tensor& on_host, Device device);

}  // namespace pel

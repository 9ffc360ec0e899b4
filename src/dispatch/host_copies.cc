#include "dispatch/host_copies.h"

#include <algorithm>

#include "device/registry.h"

namespace pel {

using detail::StorageHeader;

HostCopies::HostCopies(OrderedDevice& device, ArrayView<const Tensor*> tensors, std::size_t outputs,
                       const Site& site)
    : device_(device) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = *tensors[i];
    const StorageHeader& storage = *t.header()->storage;
    if ((storage.flags & StorageHeader::kOnDevice) == 0 || storage.context == nullptr) continue;
    auto* begin = static_cast<std::byte*>(t.raw_data());
    std::byte* end = begin + size_bytes(t.dtype());
    bool is_empty = false;
    for (std::int64_t axis = 0; axis < t.dim(); ++axis) {
      const std::int64_t size = t.sizes()[static_cast<std::size_t>(axis)].value();
      const std::int64_t span =
          (size - 1) * t.strides()[static_cast<std::size_t>(axis)].value() * size_bytes(t.dtype());
      is_empty = is_empty || size == 0;
      (span < 0 ? begin : end) += span;
    }
    if (is_empty) continue;
    auto copy = std::ranges::find(copies_, &storage, &Copy::storage);
    if (copy == copies_.end()) copy = copies_.insert(copy, Copy{&storage, begin, end});
    copy->begin = std::min(copy->begin, begin);
    copy->end = std::max(copy->end, end);
    copy->is_written = copy->is_written || i < outputs;
  }
  for (Copy& copy : copies_) {
    constexpr std::uintptr_t kAlignment = 64;
    const std::int64_t bytes = copy.end - copy.begin;
    copy.bytes =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes) + 2 * kAlignment);
    const auto start = reinterpret_cast<std::uintptr_t>(copy.bytes.get());
    const std::uintptr_t wanted = reinterpret_cast<std::uintptr_t>(copy.begin) % kAlignment;
    copy.host = copy.bytes.get() + (kAlignment - start % kAlignment) % kAlignment + wanted;
    device_.copy_out(copy.host, copy.begin, block_of(*copy.storage), bytes,
                     {"to run an op on the CPU that the device has no kernel for", site});
  }
}

void* HostCopies::on_host(void* address) const {
  auto* const at = static_cast<std::byte*>(address);
  for (const Copy& copy : copies_)
    if (copy.begin <= at && at < copy.end) return copy.host + (at - copy.begin);
  return address;
}

void HostCopies::write_back() const {
  for (const Copy& copy : copies_) {
    if (copy.is_written)
      device_.copy_in(copy.begin, block_of(*copy.storage), copy.host, copy.end - copy.begin);
  }
}

}  // namespace pel

// Memory whose address was given to code that may write to it: its version does not count such writes, so no
// copy of its elements may stand in for them later.
#pragma once

#include <atomic>

#include "pellucid/detail/tensor_header.h"

namespace pel {

// Allocated memory leaves `context` empty, which says that its address was not given out. In a storage that
// is external or on a device, `context` belongs to `release`.
inline void note_address_taken(detail::StorageHeader& storage) noexcept {
  constexpr unsigned kOwnContext = detail::StorageHeader::kExternal | detail::StorageHeader::kOnDevice;
  if ((storage.flags & kOwnContext) == 0)
    std::atomic_ref(storage.context).store(storage.block, std::memory_order_relaxed);
}

// Whether the elements may change without a change of the version. Read-only external memory is a file, or is
// promised not to change.
inline bool may_change_unseen(const detail::StorageHeader& storage) noexcept {
  constexpr unsigned kExternal = detail::StorageHeader::kExternal,
                     kReadOnly = detail::StorageHeader::kReadOnly;
  if ((storage.flags & kExternal) != 0) return (storage.flags & kReadOnly) == 0;
  return std::atomic_ref(const_cast<detail::StorageHeader&>(storage).context)
             .load(std::memory_order_relaxed) != nullptr;
}

}  // namespace pel

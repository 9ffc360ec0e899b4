// What a Tensor points to. Not part of the API: public only so that accessors can be inlined.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pellucid/api.h"
#include "pellucid/device.h"
#include "pellucid/dim.h"
#include "pellucid/dtype.h"

namespace pel::detail {

// Memory that views share. Lives in the block of the tensor that made it.
struct StorageHeader {
  static constexpr std::uint8_t kReadOnly = 1;
  static constexpr std::uint8_t kNoData = 2;  // meta device, or sizes are symbolic
  static constexpr std::uint8_t kExternal = 4;
  // `data` is an address on an asynchronous device, which the host cannot read, and `context` is its block.
  static constexpr std::uint8_t kOnDevice = 8;

  std::atomic<std::uint32_t> refs;     // tensors that use it
  std::atomic<std::uint32_t> version;  // counts in-place writes
  std::byte* data;
  std::int64_t size_bytes;
  void (*release)(StorageHeader&) noexcept;  // frees data; null if data is part of the block
  void* context;                             // release's own
  void* block;                               // what holds this header
  Device device;
  std::uint8_t block_class;
  std::uint8_t flags;
  std::uint16_t keys;            // of every view of it, in addition to the view's own
  std::atomic<bool> is_watched;  // saved for a gradient: writes are noted
};
static_assert(sizeof(StorageHeader) <= 56);

// Followed in memory by sizes[capacity] and strides[capacity].
struct TensorHeader {
  std::atomic<std::uint32_t> refs;
  std::uint16_t keys;
  DType dtype;
  std::uint8_t rank;
  StorageHeader* storage;
  Dim offset;  // of the first element, in elements
  Device device;
  std::uint8_t block_class;
  std::uint8_t capacity;
  bool is_row_major;  // known to be, by construction; false means: look at the strides
  bool is_number;     // a number passed for a tensor: promotes by kind, not by size
  bool is_detached;   // made by detach, or a view of that: no gradient of this memory is its own
  std::uint8_t reserved;
  void* autograd;  // belongs to the Autograd key; null without gradient

  Dim* sizes() { return reinterpret_cast<Dim*>(this + 1); }
  Dim* strides() { return sizes() + capacity; }
  const Dim* sizes() const { return reinterpret_cast<const Dim*>(this + 1); }
  const Dim* strides() const { return sizes() + capacity; }
};
static_assert(sizeof(TensorHeader) == 40);

// Frees the header after its last reference, and the storage if this was its last tensor.
PEL_API void destroy(TensorHeader* header) noexcept;

// Defined in src/autograd/.
PEL_API void release_autograd(TensorHeader* header) noexcept;
PEL_API void forget_writes(const StorageHeader* storage) noexcept;

}  // namespace pel::detail

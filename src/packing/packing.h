// Packed matrices: how a backend registers its packing, and how a kernel finds a packed form.
#pragma once

#include <atomic>
#include <memory>

#include "pellucid/extend/kernel.h"
#include "pellucid/packing.h"

#include "tensor/address_taken.h"

namespace pel {

// The view of a matrix: its first element, sizes and strides.
struct MatrixView {
  const void* data;
  std::int64_t k, n, row, column;
  bool operator==(const MatrixView&) const = default;
};

struct PackedForm {
  MatrixView view;
  DType dtype;
  const detail::StorageHeader* storage;  // of the matrix
  std::uint32_t version;                 // of the storage when it was packed
  Tensor panels;                         // in an order that only the backend knows
  Tensor source;                         // holds the memory of the matrix; undefined: the form goes with it
  mutable std::atomic<std::uint64_t> last_use{0};  // a moment (packing_cache.h)

  // Whether the matrix has the elements that were packed. Its memory must live.
  bool is_current() const {
    return storage->version.load(std::memory_order_relaxed) == version &&
           (source.defined() || !may_change_unseen(*storage));
  }
  std::int64_t bytes() const { return panels.numel().value(); }
};

// How a backend packs matrices [k, n]. Each sets its own, once.
struct Packer {
  std::int64_t (*panels_bytes)(const MatrixView& matrix, DType dtype);
  Tensor (*pack)(const MatrixView& matrix, DType dtype);
  bool (*reads_panels)(const Kernel& kernel);  // of its second input
};
void set_packer(DeviceType device, const Packer* packer);
const Packer* packer_of(DeviceType device);  // null: matrices on this device are not packed

namespace detail {
extern constinit std::atomic<std::int64_t> packed_count;
extern constinit std::atomic<std::int64_t> packing_cache_limit;
std::shared_ptr<const PackedForm> find_packed_slow(const MatrixView& view, DType dtype);
void offer_to_cache_slow(const Tensor& matrix);
}  // namespace detail

// Returns the packed form of a view; null if there is none or the matrix was written to since.
inline std::shared_ptr<const PackedForm> find_packed(const MatrixView& view, DType dtype) {
  if (detail::packed_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return nullptr;
  return detail::find_packed_slow(view, dtype);
}

// Called before a GEMM reads this matrix [k, n] as its right operand.
inline void offer_to_cache(const Tensor& matrix) {
  if (detail::packing_cache_limit.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  detail::offer_to_cache_slow(matrix);
}

// Drops all forms of this memory, which is about to be freed.
void forget_packed(const detail::StorageHeader* storage) noexcept;

}  // namespace pel

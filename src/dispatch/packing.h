// Packed matrices: who packs them, and how a kernel finds one.
#pragma once

#include <atomic>
#include <memory>

#include "pellucid/packing.h"

namespace pel {

struct PackedForm {
  Tensor source;
  std::uint32_t version;  // of the source when it was packed
  Tensor panels;          // in an order of the backend's own
  bool is_current() const { return source.version() == version; }
};

// How the CPU packs a matrix [k, n]. Set once, by its backend.
using Packer = PackedForm (*)(const Tensor& matrix);
void set_packer(Packer packer);

// The view of a matrix: its first element, sizes and strides.
struct MatrixView {
  const void* data;
  std::int64_t k, n, row, column;
  bool operator==(const MatrixView&) const = default;
};

namespace detail {
extern constinit std::atomic<std::int64_t> packed_count;
extern constinit std::atomic<std::int64_t> packing_cache_most;
std::shared_ptr<const PackedForm> find_packed_slow(const MatrixView& view, DType dtype);
void offer_to_cache_slow(const Tensor& matrix);
}  // namespace detail

// The packed form of a view, if there is one that is current.
inline std::shared_ptr<const PackedForm> find_packed(const MatrixView& view, DType dtype) {
  if (detail::packed_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return nullptr;
  return detail::find_packed_slow(view, dtype);
}

// A product is about to read this matrix [k, n] on its right.
inline void offer_to_cache(const Tensor& matrix) {
  if (detail::packing_cache_most.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  detail::offer_to_cache_slow(matrix);
}

}  // namespace pel

// Packed matrices: how a backend registers its packing, and how a kernel finds a packed form.
#pragma once

#include <atomic>
#include <memory>

#include "pellucid/packing.h"

namespace pel {

struct PackedForm {
  Tensor source;
  std::uint32_t version;  // of the source when it was packed
  Tensor panels;          // in an order that only the backend knows
  bool is_current() const { return source.version() == version; }
};

// Packs a matrix [k, n]. Each backend sets its own, once.
using Packer = PackedForm (*)(const Tensor& matrix);
void set_packer(DeviceType device, Packer packer);

// The view of a matrix: its first element, sizes and strides.
struct MatrixView {
  const void* data;
  std::int64_t k, n, row, column;
  bool operator==(const MatrixView&) const = default;
};

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

}  // namespace pel

// Uninitialized memory, dense with the axes in a given order.
#include <bitset>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor empty_permuted_body(Dims size, Axes physical_layout, std::optional<DType> dtype,
                           std::optional<Device> device) {
  const std::size_t rank = size.size();
  PEL_CHECK(physical_layout.size() == rank, ShapeError, "physical_layout has {} axes and size {}",
            physical_layout.size(), rank);
  DimVector in_memory(rank), strides(rank);
  std::bitset<kMaxRank> seen;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t axis = physical_layout[i];
    PEL_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(rank), IndexError,
              "physical_layout has axis {}; axes are 0 to {}", axis, rank - 1);
    PEL_CHECK(!seen[static_cast<std::size_t>(axis)], ValueError, "axis {} is in physical_layout twice", axis);
    seen[static_cast<std::size_t>(axis)] = true;
    in_memory[i] = size[static_cast<std::size_t>(axis)];
  }
  const DimVector dense = row_major_strides(in_memory);
  for (std::size_t i = 0; i < rank; ++i) strides[static_cast<std::size_t>(physical_layout[i])] = dense[i];
  return make_strided(size, strides, dtype.value_or(kF32), device.value_or(kCpu));
}

}  // namespace

namespace ops {
OpDef define_empty_permuted() {
  return define_op<empty_permuted_body>(OpKind::Metadata,
                                        "empty_permuted(Dim[] size, int[] physical_layout, *, DType? "
                                        "dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor empty_permuted(Dims size, Axes physical_layout, TensorOptions options, Site site) {
  return call<"empty_permuted", empty_permuted_body>(site, size, physical_layout, options.dtype,
                                                     options.device);
}

}  // namespace pel

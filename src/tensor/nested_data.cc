// tensor({{1, 2}, {3, 4}}): values written out in the source.
#include "pellucid/tensor.h"

#include "base/check.h"
#include "tensor/element.h"
#include "tensor/make.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

// Sizes come from the first item of each list; fill() checks the others against them.
DimVector sizes_of(const NestedData& values) {
  DimVector sizes;
  for (const NestedData* level = &values; level->is_list; level = &level->items.front()) {
    sizes.push_back(static_cast<std::int64_t>(level->items.size()));
    if (level->items.empty()) break;
  }
  return sizes;
}

void widen(const NestedData& values, std::optional<DType>& dtype) {
  if (!values.is_list) {
    const DType own = values.scalar.default_dtype();
    dtype = dtype ? promote_types(*dtype, own) : own;
  }
  for (const NestedData& item : values.items) widen(item, dtype);
}

std::byte* fill(const NestedData& values, Dims sizes, DType dtype, std::byte* to) {
  PEL_CHECK(values.is_list == !sizes.empty() &&
                (!values.is_list || sizes[0] == static_cast<std::int64_t>(values.items.size())),
            ShapeError, "the lists are ragged: one has {} items where the first has {}",
            values.is_list ? std::to_string(values.items.size()) : "no",
            sizes.empty() ? "none" : to_string(sizes[0]));
  if (!values.is_list) {
    check_fits(dtype, values.scalar);
    store_element(dtype, to, values.scalar);
    return to + size_bytes(dtype);
  }
  for (const NestedData& item : values.items)
    to = fill(item, {sizes.data() + 1, sizes.size() - 1}, dtype, to);
  return to;
}

}  // namespace

Tensor tensor(const NestedData& values, TensorOptions options, Site site) {
  return as_call("tensor", site, [&] {
    std::optional<DType> dtype = options.dtype;
    if (!dtype) widen(values, dtype);
    const DimVector sizes = sizes_of(values);
    Tensor result = make_dense(sizes, dtype.value_or(kF32), kCpu);
    const Device device = options.device.value_or(kCpu);
    PEL_CHECK(device == kCpu || is_asynchronous(device), DeviceError,
              "values written out need a device with data, not {}", to_string(device));
    fill(values, sizes, result.dtype(), static_cast<std::byte*>(result.raw_data()));
    return device == kCpu ? result : copied_in(result, device);
  });
}

}  // namespace pel

#include "tensor/read_back.h"

#include "device/registry.h"
#include "device/sync.h"
#include "tensor/make.h"

namespace pel {

Tensor read_back_slow(const Tensor& tensor, std::string_view why, const Site& site) {
  Tensor copy = make_strided(tensor.sizes(), tensor.strides(), tensor.dtype(), kCpu);
  const std::int64_t bytes = (extent(tensor.sizes(), tensor.strides()) * size_bytes(tensor.dtype())).value();
  if (bytes == 0) return copy;
  device_of(tensor.device())
      .copy_out(static_cast<std::byte*>(copy.raw_data()), static_cast<const std::byte*>(tensor.raw_data()),
                block_of(*tensor.header()->storage), bytes, {why, waiting_site(site)});
  return copy;
}

Tensor copied_in(const Tensor& on_host, Device device) {
  Tensor copy = make_strided(on_host.sizes(), on_host.strides(), on_host.dtype(), device);
  const std::int64_t bytes =
      (extent(on_host.sizes(), on_host.strides()) * size_bytes(on_host.dtype())).value();
  if (bytes == 0) return copy;
  device_of(device).copy_in(static_cast<std::byte*>(copy.raw_data()), block_of(*copy.header()->storage),
                            static_cast<const std::byte*>(on_host.raw_data()), bytes);
  return copy;
}

}  // namespace pel

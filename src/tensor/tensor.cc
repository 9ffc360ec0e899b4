#include "pellucid/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "pellucid/extend/keys.h"

#include "base/check.h"
#include "device/registry.h"
#include "device/sync.h"
#include "tensor/address_taken.h"
#include "tensor/block_pool.h"
#include "tensor/data_allocator.h"
#include "tensor/dim_context.h"
#include "tensor/make.h"

namespace pel {

using detail::StorageHeader;
using detail::TensorHeader;

constinit thread_local NewData new_data = NewData::Real;

namespace {

constexpr std::uint8_t kInlineRank = 6;
constexpr std::size_t header_bytes(std::size_t capacity) {
  return sizeof(TensorHeader) + 2 * capacity * sizeof(Dim);
}
static_assert(header_bytes(kInlineRank) + sizeof(StorageHeader) <= kBlockBytes);
constexpr int kHighRankClass = block_class_for(header_bytes(kMaxRank) + sizeof(StorageHeader));
static_assert(kHighRankClass < kBlockClasses);
// Data up to this size follows the header in the same block.
constexpr std::int64_t kSmallBytes = kBlockStep * (kBlockClasses - 1);
constexpr bool is_small(std::int64_t bytes, std::size_t rank) {
  return bytes <= kSmallBytes && rank <= kInlineRank;
}

TensorHeader* new_header(std::size_t rank, DType dtype, Device device, int small_class) {
  const bool high = rank > kInlineRank;
  const int block_class = high ? kHighRankClass : small_class;
  auto* header = new (take_block(block_class)) TensorHeader;
  header->refs.store(1, std::memory_order_relaxed);
  header->keys = KeySet(Key::Backend).bits();
  header->dtype = dtype;
  header->rank = static_cast<std::uint8_t>(rank);
  header->device = device;
  header->block_class = static_cast<std::uint8_t>(block_class);
  header->capacity = high ? static_cast<std::uint8_t>(kMaxRank) : kInlineRank;
  header->is_row_major = false;
  header->is_number = false;
  header->is_detached = false;
  header->autograd = nullptr;
  return header;
}

StorageHeader* embedded_storage(TensorHeader* header) {
  return reinterpret_cast<StorageHeader*>(reinterpret_cast<std::byte*>(header) +
                                          header_bytes(header->capacity));
}

StorageHeader* new_storage(TensorHeader* header, Device device) {
  auto* storage = new (embedded_storage(header)) StorageHeader;
  storage->refs.store(1, std::memory_order_relaxed);
  storage->version.store(0, std::memory_order_relaxed);
  storage->data = nullptr;
  storage->size_bytes = 0;
  storage->release = nullptr;
  storage->context = nullptr;
  storage->block = header;
  storage->device = device;
  storage->block_class = header->block_class;
  storage->flags = 0;
  storage->keys = 0;
  storage->is_watched.store(false, std::memory_order_relaxed);
  header->storage = storage;
  return storage;
}

void check_rank(std::size_t rank) {
  PEL_CHECK(rank <= kMaxRank, ShapeError, "a tensor has at most {} axes, not {}", kMaxRank, rank);
}

// The same as new_tensor below for a device other than the CPU.
[[gnu::noinline]] TensorHeader* new_tensor_elsewhere(std::size_t rank, Dim elements, DType dtype,
                                                     Device device) {
  OrderedDevice* const on = is_asynchronous(device) ? &device_of(device) : nullptr;
  TensorHeader* header = new_header(rank, dtype, device, 0);
  StorageHeader* storage = new_storage(header, device);
  header->offset = 0;
  if (on != nullptr) storage->keys = detail::kOnDevice;
  if (on == nullptr || elements.is_symbolic() || new_data == NewData::None) {
    storage->flags = StorageHeader::kNoData;
    return header;
  }
  try {
    on->allocate(*storage, (elements * size_bytes(dtype)).value());
  } catch (...) {
    detail::destroy(header);
    throw;
  }
  return header;
}

// A header with storage for `elements` elements. The caller fills sizes and strides.
TensorHeader* new_tensor(std::size_t rank, Dim elements, DType dtype, Device device) {
  check_rank(rank);
  if (device.type != DeviceType::Cpu) [[unlikely]]
    return new_tensor_elsewhere(rank, elements, dtype, device);
  const bool no_data = elements.is_symbolic() || new_data == NewData::None;
  const std::int64_t bytes = no_data ? 0 : (elements * size_bytes(dtype)).value();
  const bool small = is_small(bytes, rank);
  const int small_class =
      small ? static_cast<int>((static_cast<std::size_t>(bytes) + kBlockStep - 1) / kBlockStep) : 0;
  TensorHeader* header = new_header(rank, dtype, device, small_class);
  StorageHeader* storage = new_storage(header, device);
  header->offset = 0;
  if (no_data) [[unlikely]] {
    storage->flags = StorageHeader::kNoData;
  } else if (small) [[likely]] {
    storage->data = reinterpret_cast<std::byte*>(header) + kBlockBytes;
    storage->size_bytes = bytes;
  } else {
    try {
      allocate_data(*storage, bytes);
    } catch (...) {
      detail::destroy(header);
      throw;
    }
  }
  return header;
}

}  // namespace

std::int64_t counted_bytes(std::int64_t bytes, std::size_t rank) { return is_small(bytes, rank) ? 0 : bytes; }

namespace detail {

static void release_storage(StorageHeader* storage) noexcept {
  if (storage->refs.load(std::memory_order_acquire) != 1 &&
      storage->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (storage->is_watched.load(std::memory_order_relaxed)) [[unlikely]]
    forget_writes(storage);
  if (storage->release) storage->release(*storage);
  give_block(storage->block, storage->block_class);
}

void destroy(TensorHeader* header) noexcept {
  StorageHeader* storage = header->storage;
  const bool owns_block = storage->block == header;
  const int block_class = header->block_class;
  if (header->autograd != nullptr) [[unlikely]]
    release_autograd(header);
  if (owns_block) {
    header->refs.store(0,
                       std::memory_order_relaxed);  // a sole owner did not: views may ask whether it is there
  } else {
    give_block(header, block_class);
  }
  release_storage(storage);
}

[[noreturn]] void throw_wrong_count(std::size_t count, Dims size, const Site& site) {
  ValueError error(fmt::format("{} values do not fill sizes {}", count, to_string(size)));
  error.leave_call("from_data", site);
  throw error;
}

}  // namespace detail

Tensor make_dense(Dims sizes, DType dtype, Device device) {
  Dim count = 1;
  for (Dim size : sizes) {
    PEL_CHECK(is_size(size), ValueError, "size {} in {} is negative", to_string(size), to_string(sizes));
    count *= size;
  }
  Tensor result(new_tensor(sizes.size(), count, dtype, device));
  TensorHeader* header = result.header();
  copy_dims(header->sizes(), sizes);
  fill_row_major_strides(header->strides(), sizes);
  header->is_row_major = true;
  return result;
}

Tensor make_strided(Dims sizes, Dims strides, DType dtype, Device device) {
  PEL_CHECK(sizes.size() == strides.size(), ValueError, "{} sizes and {} strides: the numbers must agree",
            sizes.size(), strides.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    PEL_CHECK(is_size(sizes[i]), ValueError, "size {} in {} is negative", to_string(sizes[i]),
              to_string(sizes));
    PEL_CHECK(is_size(strides[i]), ValueError, "stride {} in {} is negative", to_string(strides[i]),
              to_string(strides));
  }
  Tensor result(new_tensor(sizes.size(), extent(sizes, strides), dtype, device));
  TensorHeader* header = result.header();
  copy_dims(header->sizes(), sizes);
  copy_dims(header->strides(), strides);
  header->is_row_major = has_row_major_strides(sizes, strides);
  return result;
}

Tensor make_like(const Tensor& self, DType dtype, Device device) {
  if (self.header()->is_row_major) return make_dense(self.sizes(), dtype, device);
  return make_strided(self.sizes(), dense_strides_like(self.sizes(), self.strides()), dtype, device);
}

Tensor new_view(const Tensor& base, std::size_t rank) {
  check_rank(rank);
  const TensorHeader* from = base.header();
  TensorHeader* header = new_header(rank, from->dtype, from->device, 0);
  header->storage = from->storage;
  header->storage->refs.fetch_add(1, std::memory_order_relaxed);
  header->offset = from->offset;
  header->is_detached = from->is_detached;
  return Tensor(header);
}

Tensor make_view(const Tensor& base, Dims sizes, Dims strides, Dim offset) {
  Tensor view = new_view(base, sizes.size());
  view.header()->offset = offset;
  copy_dims(view.header()->sizes(), sizes);
  copy_dims(view.header()->strides(), strides);
  return view;
}

Dim Tensor::size(std::int64_t axis, Site site) const {
  return as_call("size", site, [&] {
    PEL_CHECK(dim() != 0, IndexError, "a tensor without axes has no size of axis {}", axis);
    return sizes()[static_cast<std::size_t>(wrap_axis(axis, dim()))];
  });
}

Dim Tensor::stride(std::int64_t axis, Site site) const {
  return as_call("stride", site, [&] {
    PEL_CHECK(dim() != 0, IndexError, "a tensor without axes has no stride of axis {}", axis);
    return strides()[static_cast<std::size_t>(wrap_axis(axis, dim()))];
  });
}

// Waits for the kernels that use the memory; returns the address that the host may use until the next one
// does.
static void* host_data(const Tensor& tensor, Access access, const Site& site) {
  OrderedDevice& device = device_of(tensor.device());
  void* const address = device.host_address(static_cast<std::byte*>(tensor.raw_data()));
  PEL_CHECK(address != nullptr, DeviceError, "the host cannot read the memory of {}; copy it with to(kCpu)",
            describe(tensor));
  const DeviceBlock& block = *block_of(*tensor.header()->storage);
  device.wait_for(device.users_of(block, access), {"in data<T>()", site});
  return address;
}

bool Tensor::is_row_major() const { return pel::is_row_major(sizes(), strides()); }

void* Tensor::checked_data(DType wanted, bool read_only, const Site& site) const {
  return as_call("data", site, [&] {
    PEL_CHECK(dtype() == wanted, DTypeError, "the tensor holds {}, not {}", name(dtype()), name(wanted));
    PEL_CHECK(has_data(), DeviceError, "a tensor on {} with sizes {} has no data", to_string(device()),
              to_string(sizes()));
    PEL_CHECK(read_only || !is_read_only(), AliasError,
              "the memory is read-only; read it with data<const T>()");
    void* first = raw_data();
    if ((p_->storage->flags & StorageHeader::kOnDevice) != 0 && first != nullptr)
      first = host_data(*this, read_only ? Access::Read : Access::Write, waiting_site(site));
    PEL_CHECK(reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(size_bytes(wanted)) == 0,
              AliasError, "the memory at {} is not aligned for {}; clone() makes an aligned copy", first,
              name(wanted));
    if (!read_only) note_address_taken(*p_->storage);
    return first;
  });
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::string text = fmt::format("{}{}", name(tensor.dtype()), to_string(tensor.sizes()));
  if (tensor.device().type != DeviceType::Cpu) text += "@" + to_string(tensor.device());
  return text;
}

Tensor from_external(External memory, Site site) {
  return as_call("from_external", site, [&] {
    const Dims sizes(memory.sizes);
    const DimVector strides =
        memory.strides.empty() ? row_major_strides(sizes) : DimVector(Dims(memory.strides));
    PEL_CHECK(strides.size() == sizes.size(), ValueError, "{} sizes and {} strides: the numbers must agree",
              sizes.size(), strides.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      PEL_CHECK(sizes[i] >= 0 && strides[i] >= 0, ValueError, "sizes {} and strides {} must not be negative",
                to_string(sizes), to_string(strides));
    }
    PEL_CHECK(
        memory.device == kCpu, DeviceError,
        "expected external memory on the CPU, found it on {}; wrap memory of the CPU, then copy it with "
        "to(device)",
        to_string(memory.device));
    check_rank(sizes.size());
    const std::int64_t bytes = (extent(sizes, strides) * size_bytes(memory.dtype)).value();
    PEL_CHECK(memory.data != nullptr || bytes == 0, ValueError, "data is null and sizes are {}",
              to_string(sizes));

    TensorHeader* header = new_header(sizes.size(), memory.dtype, memory.device, 0);
    StorageHeader* storage = new_storage(header, memory.device);
    header->offset = 0;
    copy_dims(header->sizes(), sizes);
    copy_dims(header->strides(), strides);
    Tensor result(header);
    header->is_row_major = has_row_major_strides(sizes, strides);
    storage->data = static_cast<std::byte*>(memory.data);
    storage->size_bytes = bytes;
    storage->flags = static_cast<std::uint8_t>(StorageHeader::kExternal |
                                               (memory.read_only ? StorageHeader::kReadOnly : 0));
    if (memory.deleter) {
      storage->context = new std::function<void(void*)>(std::move(memory.deleter));
      storage->release = [](StorageHeader& gone) noexcept {
        auto* deleter = static_cast<std::function<void(void*)>*>(gone.context);
        (*deleter)(gone.data);
        delete deleter;
      };
    }
    return result;
  });
}

Tensor from_bytes(const void* values, DType dtype, Dims size, Site site) {
  return as_call("from_bytes", site, [&] {
    Tensor result = make_dense(size, dtype, kCpu);
    const auto bytes = static_cast<std::size_t>((result.numel() * size_bytes(dtype)).value());
    if (bytes != 0) std::memcpy(result.raw_data(), values, bytes);
    return result;
  });
}

}  // namespace pel

// Tensor: a reference to strided data. Copying a Tensor copies the reference.
//
// const: a `const Tensor&` is a constant reference to data that may be written. In-place ops (add_, copy_, x
// += y) take `const Tensor&` and write through it, as a `float* const` allows. What const forbids is to make
// the variable refer to other data. Read-only data is a property of the memory: see is_read_only().
//
// Threads: any number of threads may read one tensor, make views of it and drop them at the same time.
// Synchronizing a write to a tensor (copy_, fill_, or through data<T>()) with other uses of the same elements
// is up to the caller, as for any C++ object.
//
// Words: a tensor has `rank` axes (`dim()` in PyTorch and here); each axis has a size; an argument that names
// one is an `axis`, several are `axes`. Negative axes count from the end.
#pragma once

#if !defined(__linux__)
#error "Tensors are built for Linux on x86-64 and aarch64; only the doctor is built for other systems"
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/detail/tensor_header.h"
#include "pellucid/device.h"
#include "pellucid/dim.h"
#include "pellucid/dtype.h"
#include "pellucid/index.h"
#include "pellucid/scalar.h"

namespace pel {

// Options of creation functions: zeros({2, 3}, kF16), zeros_like(x, kMeta), empty({4}, {kI64, kCpu}).
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(DType d) : dtype(d) {}
  TensorOptions(Device d) : device(d) {}
  TensorOptions(DType t, Device d) : dtype(t), device(d) {}
  std::optional<DType> dtype;
  std::optional<Device> device;
};

struct BackwardOptions;  // autograd.h
class Generator;         // generator.h
PEL_API Generator& default_generator();
// Of the ops that are methods, too: ops/.
enum class Accumulate : bool;
enum class Descending : bool;
enum class IncludeSelf : bool;
enum class KeepDims : bool;
enum class Largest : bool;
enum class Replacement : bool;
enum class ReturnCounts : bool;
enum class ReturnInverse : bool;
enum class RoundingMode : std::uint8_t;
enum class ScatterMode : std::uint8_t;
enum class ScatterReduce : std::uint8_t;
enum class Sorted : bool;
enum class RequiresGrad : bool { No, Yes };

// The order of axes in the memory of a copy: that of the source if it is dense, or row-major.
enum class Layout : bool { Keep, RowMajor };

class PEL_API Tensor {
 public:
  Tensor() = default;  // undefined: refers to nothing, and only defined() and assignment may be used
  Tensor(const Tensor& other) : p_(other.p_) {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Tensor& operator=(const Tensor& other) {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() {
    // A sole owner needs no atomic write: nobody else can add a reference.
    if (p_ && (p_->refs.load(std::memory_order_acquire) == 1 ||
               p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
      detail::destroy(p_);
    }
  }
  void swap(Tensor& other) noexcept { std::swap(p_, other.p_); }

  bool defined() const { return p_ != nullptr; }
  bool is_same(const Tensor& other) const { return p_ == other.p_; }

  std::int64_t dim() const { return p_->rank; }
  Dims sizes() const { return {p_->sizes(), p_->rank}; }
  Dims strides() const { return {p_->strides(), p_->rank}; }  // in elements; 0 broadcasts
  Dim size(std::int64_t axis, Site site = Site::current()) const;
  Dim stride(std::int64_t axis, Site site = Site::current()) const;
  Dim storage_offset() const { return p_->offset; }  // in elements
  Dim numel() const {
    Dim n = 1;
    for (Dim size : sizes()) n *= size;
    return n;
  }
  DType dtype() const { return p_->dtype; }
  Device device() const { return p_->device; }
  bool is_contiguous() const { return p_->is_row_major || is_row_major(); }
  bool is_read_only() const { return p_->storage->flags & detail::StorageHeader::kReadOnly; }
  bool has_data() const { return !(p_->storage->flags & detail::StorageHeader::kNoData); }
  bool shares_storage(const Tensor& other) const { return p_->storage == other.p_->storage; }
  // Incremented by each in-place write to this tensor or to any view of the same storage.
  std::uint32_t version() const { return p_->storage->version.load(std::memory_order_relaxed); }

  // The first element. T must be the dtype's type, and the memory aligned for it. data<const float>() is for
  // reading; data<float>() throws if the memory is read-only. On kQueue it waits for the kernels that use the
  // memory; on a device whose memory the host cannot read it throws.
  template <class T>
  T* data(Site site = Site::current()) const {
    return static_cast<T*>(checked_data(dtype_of<std::remove_const_t<T>>, std::is_const_v<T>, site));
  }
  // Without any check; null if there is no data. On an asynchronous device the host cannot read the address.
  void* raw_data() const {
    std::byte* base = p_->storage->data;
    return base ? base + p_->offset.value() * size_bytes(p_->dtype) : nullptr;
  }

  // The value of a tensor with one element. Waits for the device; cannot be captured by compile.
  Scalar item(Site site = Site::current()) const;

  // Views: no data is copied, writes show through. Negative axes count from the end.
  Tensor operator[](const IndexList& index) const;
  Tensor t(Site site = Site::current()) const;
  Tensor transpose(std::int64_t axis0, std::int64_t axis1, Site site = Site::current()) const;
  Tensor permute(Axes axes, Site site = Site::current()) const;
  Tensor movedim(Axes source, Axes destination, Site site = Site::current()) const;
  Tensor view(Dims size, Site site = Site::current()) const;
  Tensor expand(Dims size, Site site = Site::current()) const;
  Tensor squeeze(Site site = Site::current()) const;
  Tensor squeeze(Axes axes, Site site = Site::current()) const;
  Tensor unsqueeze(std::int64_t axis, Site site = Site::current()) const;
  Tensor select(std::int64_t axis, Dim index, Site site = Site::current()) const;
  Tensor slice(std::int64_t axis, std::optional<Dim> start = std::nullopt,
               std::optional<Dim> end = std::nullopt, Dim step = 1, Site site = Site::current()) const;
  Tensor narrow(std::int64_t axis, Dim start, Dim length, Site site = Site::current()) const;
  std::vector<Tensor> split(Dim split_size, std::int64_t axis = 0, Site site = Site::current()) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t axis = 0, Site site = Site::current()) const;
  std::vector<Tensor> unbind(std::int64_t axis = 0, Site site = Site::current()) const;
  Tensor unflatten(std::int64_t axis, Dims sizes, Site site = Site::current()) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1,
                  Site site = Site::current()) const;
  Tensor as_strided(Dims size, Dims stride, std::optional<Dim> storage_offset = std::nullopt,
                    Site site = Site::current()) const;
  // Views if the layout allows it, else copies.
  Tensor reshape(Dims shape, Site site = Site::current()) const;
  Tensor flatten(std::int64_t start_axis = 0, std::int64_t end_axis = -1, Site site = Site::current()) const;
  Tensor contiguous(Site site = Site::current()) const;
  Tensor to(DType dtype, Site site = Site::current()) const;
  Tensor to(Device device, Site site = Site::current()) const;

  // Copies and writes. A trailing underscore changes this tensor.
  Tensor clone(Layout layout = Layout::Keep, Site site = Site::current()) const;
  const Tensor& copy_(const Tensor& src, Site site = Site::current()) const;
  const Tensor& fill_(const Scalar& value, Site site = Site::current()) const;
  const Tensor& zero_(Site site = Site::current()) const;

  // Gradients; more of them in autograd.h.
  bool requires_grad() const;
  const Tensor& requires_grad_(RequiresGrad on = RequiresGrad::Yes, Site site = Site::current()) const;
  bool is_leaf() const;  // not the result of a recorded call: gradients end here
  Tensor grad() const;   // of a leaf, or after retain_grad; undefined before backward
  void set_grad(const Tensor& grad, Site site = Site::current()) const;  // undefined: clears it
  void retain_grad(Site site = Site::current()) const;
  void backward(Site site = Site::current()) const;
  void backward(const BackwardOptions& options, Site site = Site::current()) const;
  Tensor detach(Site site = Site::current()) const;

  // The ops that are methods in PyTorch: x.sum(-1), x.softmax(-1), x.add_(y). ops/ says what each computes.
#include "pellucid/detail/tensor_methods.inc"

  // For the library itself.
  explicit Tensor(detail::TensorHeader* adopted) : p_(adopted) {}
  detail::TensorHeader* header() const { return p_; }

 private:
  bool is_row_major() const;
  void* checked_data(DType wanted, bool read_only, const Site& site) const;
  detail::TensorHeader* p_ = nullptr;
};

// Memory owned by other code: a memory map, a DLPack capsule, a buffer of another library.
struct External {
  void* data = nullptr;  // of the first element; any alignment
  DType dtype = kF32;
  std::vector<Dim> sizes{};
  std::vector<Dim> strides{};  // in elements, not negative; empty means row-major
  Device device = kCpu;
  bool read_only = false;                // writing through any view is an error
  std::function<void(void*)> deleter{};  // called with `data` when the last view is gone; may be empty
};
PEL_API Tensor from_external(External memory, Site site = Site::current());

// Nested braces: tensor({{1, 2}, {3, 4}}). Only bools: bool; only integers: i64; any float: f32.
struct NestedData {
  NestedData(Scalar value) : scalar(value) {}
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  NestedData(T value) : scalar(value) {}
  NestedData(std::initializer_list<NestedData> list) : items(list), is_list(true) {}
  Scalar scalar;
  std::vector<NestedData> items;
  bool is_list = false;
};
PEL_API Tensor tensor(const NestedData& values, TensorOptions options = {}, Site site = Site::current());

// Copies `values` into a new row-major tensor.
PEL_API Tensor from_bytes(const void* values, DType dtype, Dims size, Site site = Site::current());
template <class T>
Tensor from_data(const std::vector<T>& values, Dims size, Site site = Site::current());

// Memory for the result of an op's body: uninitialized, and allocated without a dispatched call. With
// symbolic sizes, or on the meta device, the tensor has no data. make_dense is row-major; make_like has the
// dense layout closest to that of `self`.
PEL_API Tensor make_dense(Dims sizes, DType dtype, Device device);
PEL_API Tensor make_like(const Tensor& self, DType dtype, Device device);

// The dtype an op over these operands computes in, by PyTorch's rules: a tensor with axes outranks a 0-dim
// one, which outranks a number, unless the lower one is of a higher category (bool < integral < floating).
struct PromotionOperand {
  PromotionOperand(const Tensor& t) : dtype(t.dtype()), rank_class(t.dim() == 0 ? 1 : 2) {
    if (t.header()->is_number) {
      rank_class = 0;
      if (is_floating(dtype)) dtype = kF32;
    }
  }
  PromotionOperand(const Scalar& s) : dtype(s.default_dtype()), rank_class(0) {}
  DType dtype;
  int rank_class;  // 0 number, 1 tensor without axes, 2 tensor
};
PEL_API DType result_type(ArrayView<PromotionOperand> operands);

struct PrintOptions {
  int precision = 4;              // digits after the point
  std::int64_t threshold = 1000;  // more elements than this are summarized
  std::int64_t edge_items = 3;    // shown at each end of a summarized axis
  int line_width = 100;
};
PEL_API std::string to_string(const Tensor& tensor, const PrintOptions& options = {});
PEL_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

namespace detail {
[[noreturn]] PEL_API void throw_wrong_count(std::size_t given, Dims size, const Site& site);
}
template <class T>
Tensor from_data(const std::vector<T>& values, Dims size, Site site) {
  Dim count = 1;
  for (Dim d : size) count *= d;
  if (count != static_cast<std::int64_t>(values.size())) detail::throw_wrong_count(values.size(), size, site);
  return from_bytes(values.data(), dtype_of<T>, size, site);
}

}  // namespace pel

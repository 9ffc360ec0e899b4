// Tensors of other libraries, without copying: DLPack both ways, by its C table where the other side has one,
// and NumPy's array interface.
#include "core/exchange.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <pellucid/ops.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

[[noreturn]] void throw_buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw nb::python_error();
}

}  // namespace

// ---- Dtypes

dlpack::DataType to_dlpack(DType dtype) {
  const std::uint8_t code = dtype == kBF16       ? dlpack::kBfloat
                            : is_floating(dtype) ? dlpack::kFloat
                            : dtype == kBool     ? dlpack::kBool
                            : dtype == kU8       ? dlpack::kUInt
                                                 : dlpack::kInt;
  return {code, static_cast<std::uint8_t>(8 * size_bytes(dtype)), 1};
}

DType from_dlpack_dtype(dlpack::DataType given) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::DataType ours = to_dlpack(dtype);
    if (ours.code == given.code && ours.bits == given.bits && ours.lanes == given.lanes) return dtype;
  }
  throw DTypeError("from_dlpack: there is no dtype for type code " + std::to_string(given.code) + " with " +
                   std::to_string(given.bits) + " bits and " + std::to_string(given.lanes) + " lanes");
}

// ---- From others

namespace {

alignas(64) char no_elements[64];  // where a tensor without elements points to

std::string strides_text(const std::int64_t* strides, std::int32_t rank) {
  std::vector<Dim> list;
  for (std::int32_t i = 0; i < rank; ++i) list.emplace_back(strides[i]);
  return to_string(Dims(list));
}

}  // namespace

Tensor tensor_over(const dlpack::Borrowed& given, bool read_only, std::function<void(void*)> deleter) {
  if (given.device.type != dlpack::kCpuDevice)
    throw DeviceError("from_dlpack: the tensor is on a device of type " + std::to_string(given.device.type) +
                      "; copy it to the CPU first");
  External memory;
  memory.dtype = from_dlpack_dtype(given.dtype);
  memory.sizes.assign(given.sizes, given.sizes + given.rank);
  if (given.strides != nullptr) {
    for (std::int32_t i = 0; i < given.rank; ++i) {
      if (given.strides[i] < 0)
        throw ValueError("from_dlpack: strides " + strides_text(given.strides, given.rank) +
                         " are negative; pass a copy of the array");
    }
    memory.strides.assign(given.strides, given.strides + given.rank);
  }
  memory.data = given.data == nullptr ? no_elements : static_cast<char*>(given.data) + given.byte_offset;
  memory.read_only = read_only;
  memory.deleter = std::move(deleter);
  return from_external(std::move(memory));
}

namespace {

// Takes over `managed`: its deleter is called once, now or after the last view.
template <class Owned>
Tensor take_over(Owned* managed, bool read_only) {
  const std::shared_ptr<Owned> owner(managed, [](Owned* owned) {
    if (owned->deleter != nullptr) owned->deleter(owned);
  });
  return tensor_over(managed->tensor, read_only, [owner](void*) {});
}

}  // namespace

Tensor take_managed(dlpack::Managed* managed) {
  if (managed->version.major != dlpack::kVersion.major) {
    const std::string version =
        std::to_string(managed->version.major) + "." + std::to_string(managed->version.minor);
    if (managed->deleter != nullptr) managed->deleter(managed);
    throw_buffer_error("from_dlpack: the tensor has DLPack version " + version + "; 1.x is supported.");
  }
  return take_over(managed, (managed->flags & dlpack::kReadOnly) != 0);
}

namespace {

Tensor take_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::kManagedName)) {
    auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::kManagedName));
    PyCapsule_SetName(capsule, dlpack::kUsedManagedName);
    return take_managed(managed);
  }
  if (PyCapsule_IsValid(capsule, dlpack::kUnversionedName)) {
    auto* const managed =
        static_cast<dlpack::Unversioned*>(PyCapsule_GetPointer(capsule, dlpack::kUnversionedName));
    PyCapsule_SetName(capsule, dlpack::kUsedUnversionedName);
    return take_over(managed, false);
  }
  throw_buffer_error(
      "from_dlpack: this capsule was used before, or is not DLPack's; export the tensor again.");
}

}  // namespace

const dlpack::ExchangeTable* exchange_table_of(PyTypeObject* type) {
  const nb::object capsule =
      nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__"));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeName)) return nullptr;
  const auto* header =
      static_cast<const dlpack::ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeName));
  while (header != nullptr && header->version.major != dlpack::kVersion.major) header = header->previous;
  return reinterpret_cast<const dlpack::ExchangeTable*>(header);
}

namespace {

nb::object exported_capsule(nb::handle object) {
  const nb::object method = object.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(dlpack::kVersion.major, dlpack::kVersion.minor));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();  // of a producer from before DLPack 1.0
}

nb::object from_dlpack(nb::handle object) {
  if (is_tensor(object.ptr())) return nb::steal(new_tensor(tensor_of(object.ptr()).detach()));
  if (PyCapsule_CheckExact(object.ptr())) return nb::steal(new_tensor(take_capsule(object.ptr())));
  if (const dlpack::ExchangeTable* const table = exchange_table_of(Py_TYPE(object.ptr()))) {
    dlpack::Managed* managed = nullptr;
    if (table->managed_from_object(object.ptr(), &managed) != 0) throw nb::python_error();
    return nb::steal(new_tensor(take_managed(managed)));
  }
  if (!nb::hasattr(object, "__dlpack__"))
    throw ArgumentError("expected an object with __dlpack__, got " + type_name(object.ptr()), "from_dlpack");
  return nb::steal(new_tensor(take_capsule(exported_capsule(object).ptr())));
}

// ---- To others

void check_exportable(const Tensor& t, bool exports_read_only) {
  if (!t.has_data() || t.device() != kCpu)
    throw_buffer_error("__dlpack__: the tensor has no data in the memory of the CPU.");
  if (t.requires_grad()) throw_buffer_error("__dlpack__: the tensor requires a gradient; export x.detach().");
  if (t.is_read_only() && !exports_read_only)
    throw_buffer_error(
        "__dlpack__: the memory is read-only, which DLPack before 1.0 cannot say; export x.clone(), or "
        "consume it with "
        "max_version=(1, 0).");
}

template <class... T>
void take_address(const Tensor& t) {
  ((t.dtype() == dtype_of<T> ? static_cast<void>(t.data<T>()) : static_cast<void>(0)), ...);
}
// Takes the address as code that writes does: from now on no copy of the elements stands in for them.
void note_exported(const Tensor& t) {
  const bool is_ours = (t.header()->storage->flags & detail::StorageHeader::kExternal) == 0;
  if (is_ours && !t.is_read_only())
    take_address<double, float, Float16, BFloat16, std::int64_t, std::int32_t, std::int16_t, std::int8_t,
                 std::uint8_t, bool>(t);
}

// Sizes and strides are those of the tensor's header: a plain Dim in memory is an int64.
void describe(const Tensor& t, dlpack::Borrowed& out) {
  note_exported(t);
  out.data = t.numel() == 0 ? nullptr : t.raw_data();
  out.device = {dlpack::kCpuDevice, 0};
  out.rank = static_cast<std::int32_t>(t.dim());
  out.dtype = to_dlpack(t.dtype());
  out.sizes = reinterpret_cast<std::int64_t*>(t.header()->sizes());
  out.strides = reinterpret_cast<std::int64_t*>(t.header()->strides());
  out.byte_offset = 0;
}

template <class Owned>
struct Exported {
  Owned managed{};
  Tensor tensor;
};
template <class Owned>
Owned* export_tensor(const Tensor& t) {
  auto* const exported = new Exported<Owned>();
  exported->tensor = t;
  describe(exported->tensor, exported->managed.tensor);
  exported->managed.context = exported;
  exported->managed.deleter = [](Owned* self) { delete static_cast<Exported<Owned>*>(self->context); };
  if constexpr (std::is_same_v<Owned, dlpack::Managed>) {
    exported->managed.version = dlpack::kVersion;
    if (t.is_read_only()) exported->managed.flags |= dlpack::kReadOnly;
  }
  return &exported->managed;
}

}  // namespace

dlpack::Managed* export_managed(const Tensor& t) { return export_tensor<dlpack::Managed>(t); }

namespace {

// A capsule that nobody consumed frees its tensor.
template <class Owned>
void destroy_capsule(PyObject* capsule) {
  constexpr bool kIsVersioned = std::is_same_v<Owned, dlpack::Managed>;
  const char* const name = kIsVersioned ? dlpack::kManagedName : dlpack::kUnversionedName;
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const managed = static_cast<Owned*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

bool is_versioned(nb::handle max_version) {
  return !max_version.is_none() && nb::cast<int>(nb::borrow<nb::tuple>(max_version)[0]) >= 1;
}

nb::object to_capsule(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                      nb::handle copy) {
  Tensor t = tensor_of(self.ptr());
  if (!stream.is_none()) throw_buffer_error("__dlpack__: the CPU has no streams; pass stream=None.");
  if (!dl_device.is_none() && nb::cast<int>(nb::borrow<nb::tuple>(dl_device)[0]) != dlpack::kCpuDevice)
    throw_buffer_error("__dlpack__: the tensor is on the CPU; it is not copied to other devices.");
  const bool versioned = is_versioned(max_version);
  const bool copies = !copy.is_none() && nb::cast<bool>(copy);
  check_exportable(t, versioned || copies);
  if (copies) t = t.clone();
  PyObject* capsule = nullptr;
  if (versioned) {
    dlpack::Managed* const managed = export_tensor<dlpack::Managed>(t);
    if (copies) managed->flags |= dlpack::kIsCopied;
    capsule = PyCapsule_New(managed, dlpack::kManagedName, destroy_capsule<dlpack::Managed>);
  } else {
    capsule = PyCapsule_New(export_tensor<dlpack::Unversioned>(t), dlpack::kUnversionedName,
                            destroy_capsule<dlpack::Unversioned>);
  }
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

// ---- Our C table

int table_allocate(dlpack::Borrowed* prototype, dlpack::Managed** out, void* error_context,
                   void (*set_error)(void*, const char*, const char*)) {
  try {
    std::vector<Dim> sizes(prototype->sizes, prototype->sizes + prototype->rank);
    *out = export_tensor<dlpack::Managed>(empty(sizes, TensorOptions(from_dlpack_dtype(prototype->dtype))));
    return 0;
  } catch (const std::exception& error) {
    set_error(error_context, "RuntimeError", error.what());
    return -1;
  }
}
int table_managed_from_object(void* object, dlpack::Managed** out) {
  return guarded([&]() -> int {
    const Tensor& t = tensor_of(static_cast<PyObject*>(object));
    check_exportable(t, true);
    *out = export_tensor<dlpack::Managed>(t);
    return 0;
  });
}
int table_object_from_managed(dlpack::Managed* managed, void** out) {
  return guarded([&]() -> int {
    *out = new_tensor(take_managed(managed));
    return 0;
  });
}
int table_borrowed_from_object(void* object, dlpack::Borrowed* out) {
  return guarded([&]() -> int {
    const Tensor& t = tensor_of(static_cast<PyObject*>(object));
    check_exportable(t, false);  // a borrowed tensor cannot say that it is read-only
    describe(t, *out);
    return 0;
  });
}
int table_current_stream(std::int32_t, std::int32_t, void** out) {
  *out = nullptr;
  return 0;
}
dlpack::ExchangeTable exchange_table = {{dlpack::kVersion, nullptr}, table_allocate,
                                        table_managed_from_object,   table_object_from_managed,
                                        table_borrowed_from_object,  table_current_stream};

// ---- NumPy, by its array interface: the buffer protocol is in the stable ABI since Python 3.11 only

std::string numpy_typestr(DType dtype) {
  if (dtype == kBF16)
    throw DTypeError("numpy: NumPy has no bfloat16; convert the tensor with to(pellucid.float32) first");
  if (dtype == kBool) return "|b1";
  const char kind = is_floating(dtype) ? 'f' : dtype == kU8 ? 'u' : 'i';
  return std::string(size_bytes(dtype) == 1 ? "|" : "<") + kind + std::to_string(size_bytes(dtype));
}

nb::object array_interface(nb::handle self) {
  const Tensor& t = tensor_of(self.ptr());
  if (t.requires_grad())
    throw ValueError("numpy: the tensor requires a gradient, which NumPy would ignore; call detach() first");
  if (!t.has_data() || t.device() != kCpu)
    throw DeviceError("numpy: the tensor has no data in the memory of the CPU");
  std::vector<Dim> byte_strides;
  for (const Dim stride : t.strides()) byte_strides.push_back(stride * size_bytes(t.dtype()));
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = nb::str(numpy_typestr(t.dtype()).c_str());
  interface["shape"] = nb::steal(new_shape(t.sizes()));
  interface["strides"] = nb::steal(new_shape(byte_strides));
  note_exported(t);
  void* const data = t.numel() == 0 ? no_elements : t.raw_data();
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data), t.is_read_only());
  return interface;
}

DType from_numpy_typestr(const std::string& typestr) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != kBF16 && typestr == numpy_typestr(dtype)) return dtype;
  }
  throw DTypeError("from_numpy: there is no dtype for NumPy's " + typestr +
                   "; convert the array with astype first");
}

nb::object from_numpy(nb::object array) {
  if (!nb::hasattr(array, "__array_interface__") || is_tensor(array.ptr()))
    throw ArgumentError("expected a numpy.ndarray, got " + type_name(array.ptr()), "from_numpy");
  const nb::dict interface = nb::borrow<nb::dict>(array.attr("__array_interface__"));
  External memory;
  memory.dtype = from_numpy_typestr(nb::str(interface["typestr"]).c_str());
  memory.sizes = to_dims(nb::object(interface["shape"]).ptr());
  const nb::tuple data = nb::borrow<nb::tuple>(interface["data"]);
  memory.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
  memory.read_only = nb::cast<bool>(data[1]);
  if (const nb::object strides = nb::borrow(interface["strides"]); !strides.is_none()) {
    const std::int64_t size = size_bytes(memory.dtype);
    for (const Dim stride : to_dims(strides.ptr())) {
      if (stride < 0 || stride % size != 0)
        throw ValueError("from_numpy: strides of " + to_string(stride) +
                         " bytes are not supported for elements of " + std::to_string(size) +
                         " bytes; pass numpy.ascontiguousarray(x)");
      memory.strides.push_back(stride / size);
    }
  }
  const std::shared_ptr<PyObject> owner(array.release().ptr(), [](PyObject* object) {
    if (!Py_IsInitialized()) return;  // the interpreter has ended, and its objects with it
    const nb::gil_scoped_acquire lock;
    Py_DECREF(object);
  });
  memory.deleter = [owner](void*) {};
  return nb::steal(new_tensor(from_external(std::move(memory))));
}

}  // namespace

void add_exchange(nb::module_& m) {
  const nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
  PyObject* const table = PyCapsule_New(&exchange_table, dlpack::kExchangeName, nullptr);
  if (table == nullptr) throw nb::python_error();
  type.attr("__dlpack_c_exchange_api__") = nb::steal(table);

  m.def("from_dlpack", from_dlpack, nb::arg("x"),
        "Returns a tensor over the memory of any object with __dlpack__, without copying.");
  m.def("from_numpy", from_numpy, nb::arg("array"),
        "Returns a tensor over the memory of a NumPy array, without copying. A read-only array stays "
        "read-only.");
  m.def("_to_dlpack", to_capsule, nb::arg("self"), nb::arg("stream").none(), nb::arg("max_version").none(),
        nb::arg("dl_device").none(), nb::arg("copy").none());
  m.def("_array_interface", array_interface, nb::arg("self"));
}

}  // namespace pel::python

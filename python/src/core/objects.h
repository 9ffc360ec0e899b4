// The Python types Tensor and DType. They are made with CPython's own functions and not with nanobind: a call
// of an op checks and creates such objects, and that is most of its time for small tensors.
#pragma once

#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>
#include <pellucid/tensor.h>

namespace pel::python {

namespace nb = nanobind;

struct TensorObject {
  PyObject_HEAD PyObject* weak_references;
  Tensor tensor;
};
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline const Tensor& tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->tensor; }
// A new reference. An undefined tensor is None.
PyObject* new_tensor(Tensor&& tensor);

struct DTypeObject {
  PyObject_HEAD DType dtype;
};
extern PyTypeObject* dtype_type;
PyObject* dtype_object(DType dtype);  // borrowed; there is one object for each dtype
inline bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }
inline DType dtype_of_object(PyObject* object) { return reinterpret_cast<DTypeObject*>(object)->dtype; }
std::string_view python_name(DType dtype);  // "float32"
// From "float32" or "f32"; throws an ArgumentError.
DType dtype_by_name(std::string_view name);

// Numbers and sizes.
PyObject* new_number(const Scalar& value);  // int, float, bool or, inside compile, Dim
PyObject* new_dim(Dim dim);                 // int, or Dim while a function is captured
PyObject* new_shape(Dims dims);             // a tuple

// Adds the types to the module. Methods that are ops are added by add_ops.
void add_tensor_type(nb::module_& m);
void add_dtype_type(nb::module_& m);
void add_dim_type(nb::module_& m);

// x[index] and x[index] = value.
Tensor get_item(const Tensor& self, PyObject* index);
void set_item(const Tensor& self, PyObject* index, PyObject* value);

// tensor(data, dtype): nested sequences of numbers.
Tensor tensor_from_data(PyObject* data, PyObject* dtype, PyObject* device);
PyObject* to_list(const Tensor& tensor);

// Other libraries. Defined in exchange.cc.
void add_exchange(nb::module_& m);

}  // namespace pel::python

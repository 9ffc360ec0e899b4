// Python objects as arguments of ops. Each function throws an ArgumentError that says what is expected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <pellucid/extend/op.h>

namespace pel::python {

namespace nb = nanobind;

std::string type_name(PyObject* object);  // "list", "numpy.ndarray"

// A Python number, a NumPy number, or a Dim. A bool counts.
bool is_number(PyObject* object);
// False; but for a tensor of another library it throws an error that says how to convert it.
bool refuse_foreign_tensor(PyObject* object);

Scalar to_scalar(PyObject* object);
Dim to_dim(PyObject* object);
double to_double(PyObject* object);
DType to_dtype(PyObject* object);            // a DType or its name
Device to_device(PyObject* object);          // "cpu", "meta", "queue"
std::vector<Dim> to_dims(PyObject* object);  // a sequence of integers, or one
std::vector<Tensor> to_tensors(PyObject* object);
std::optional<Dim> dim_of_object(PyObject* object);  // of a Dim object; none for other objects

// An argument of the type that the schema says. `device` is that of the call's first tensor: numbers for
// tensors go there.
void convert_argument(PyObject* object, const SchemaArg& arg, Device device, Value& out);
// A result of an op; a new reference.
PyObject* to_object(Value&& value);
// A default value; a new reference.
PyObject* to_object(const Value& value);

}  // namespace pel::python

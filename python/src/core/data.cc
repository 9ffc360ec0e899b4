// Tensors from nested sequences of Python numbers, and the reverse.
#include <cstring>
#include <vector>

#include <pellucid/ops.h>

#include "core/arguments.h"
#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

// Numbers of nested sequences, in row-major order. Both columns are filled: which one counts is known at the
// end.
struct Numbers {
  std::vector<Dim> sizes;
  std::vector<double> floats;
  std::vector<std::int64_t> ints;
  bool has_float = false, has_int = false;
};

bool is_nested(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

void add_number(PyObject* object, Numbers& numbers) {
  const Scalar value = is_tensor(object) ? tensor_of(object).item() : to_scalar(object);
  if (value.is_float()) {
    numbers.has_float = true;
  } else if (value.kind() == Scalar::Kind::Int) {
    numbers.has_int = true;
  }
  numbers.floats.push_back(value.to_double());
  numbers.ints.push_back(value.to_int());
}

void add_numbers(PyObject* data, std::size_t level, Numbers& numbers) {
  if (!is_nested(data)) {
    if (level != numbers.sizes.size())
      throw ValueError("tensor: expected a list as long as the others, found a number");
    add_number(data, numbers);
    return;
  }
  const Py_ssize_t count = PySequence_Size(data);
  if (level == numbers.sizes.size() || numbers.sizes[level] != count) {
    throw ValueError("tensor: the lists of axis " + std::to_string(level) + " have different lengths: " +
                     (level < numbers.sizes.size() ? to_string(numbers.sizes[level]) : "a number") + " and " +
                     std::to_string(count));
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(data, i));
    add_numbers(item.ptr(), level + 1, numbers);
  }
}

nb::object list_of(const Tensor& t, const std::byte* data, std::int64_t axis) {
  if (axis == t.dim()) {
    switch (t.dtype()) {
      case DType::F64:
        return nb::steal(PyFloat_FromDouble(*reinterpret_cast<const double*>(data)));
      case DType::I64:
        return nb::steal(PyLong_FromLongLong(*reinterpret_cast<const std::int64_t*>(data)));
      default:
        return nb::steal(PyBool_FromLong(std::to_integer<int>(*data)));
    }
  }
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t count = t.sizes()[i].value();
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::int64_t k = 0; k < count; ++k) {
    const std::byte* const item = data + k * t.strides()[i].value() * size_bytes(t.dtype());
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(k), list_of(t, item, axis + 1).release().ptr());
  }
  return list;
}

}  // namespace

Tensor tensor_from_data(PyObject* data, PyObject* dtype, PyObject* device) {
  refuse_foreign_tensor(data);
  TensorOptions options;
  if (dtype != Py_None) options.dtype = to_dtype(dtype);
  if (device != Py_None) options.device = to_device(device);
  Tensor result;
  if (is_tensor(data)) {
    result = tensor_of(data).detach().clone();
  } else {
    Numbers numbers;
    for (nb::object first = nb::borrow(data); is_nested(first.ptr());) {
      const Py_ssize_t count = PySequence_Size(first.ptr());
      numbers.sizes.emplace_back(static_cast<std::int64_t>(count));
      if (count == 0) break;
      first = nb::steal(PySequence_GetItem(first.ptr(), 0));
    }
    add_numbers(data, 0, numbers);
    if (numbers.has_float || (numbers.floats.empty() && !options.dtype)) {
      result = from_bytes(numbers.floats.data(), kF64, numbers.sizes).to(options.dtype.value_or(kF32));
    } else {
      result = from_bytes(numbers.ints.data(), kI64, numbers.sizes);
      if (!numbers.has_int && !options.dtype) result = result.to(kBool);
    }
  }
  if (options.dtype) result = result.to(*options.dtype);
  return options.device ? result.to(*options.device) : result;
}

PyObject* to_list(const Tensor& tensor) {
  const DType dtype = is_floating(tensor.dtype()) ? kF64 : tensor.dtype() == kBool ? kBool : kI64;
  const Tensor here = tensor.detach().to(dtype), wide = is_asynchronous(here.device()) ? here.to(kCpu) : here;
  if (!wide.has_data()) throw ValueError("tolist: the tensor has no data");
  return list_of(wide, static_cast<const std::byte*>(wide.raw_data()), 0).release().ptr();
}

}  // namespace pel::python

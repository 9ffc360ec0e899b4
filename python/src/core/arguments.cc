#include "core/arguments.h"

#include <utility>

#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

bool has_attribute(PyObject* object, const char* name) {
  const int found = PyObject_HasAttrString(object, name);
  return found == 1;
}

// The words for an argument's type in errors.
std::string expected(const ArgType& type) {
  std::string text;
  switch (type.base) {
    case ArgType::Base::None:
      text = "None";
      break;
    case ArgType::Base::Tensor:
      text = type.is_list ? "a sequence of Tensors" : "a Tensor or a number";
      break;
    case ArgType::Base::Int:
    case ArgType::Base::Dim:
      text = type.is_list ? "a sequence of integers" : "an integer";
      break;
    case ArgType::Base::Float:
      text = "a float";
      break;
    case ArgType::Base::Bool:
      text = "a bool";
      break;
    case ArgType::Base::Scalar:
      text = "a number";
      break;
    case ArgType::Base::DType:
      text = "a dtype, such as pellucid.float32";
      break;
    case ArgType::Base::Device:
      text = "a device, such as \"cpu\"";
      break;
    case ArgType::Base::String:
      text = "a string";
      break;
  }
  return type.is_optional ? text + " or None" : text;
}

[[noreturn]] void throw_wrong_type(PyObject* object, const std::string& wanted) {
  refuse_foreign_tensor(object);
  throw ArgumentError("expected " + wanted + ", got " + type_name(object));
}

std::string_view text_of(PyObject* object) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

// Calls `f` with each item of a list, a tuple or another sequence.
template <class F>
void for_each_item(PyObject* sequence, Py_ssize_t count, F&& f) {
  if (PyTuple_Check(sequence)) {  // items are borrowed; a list may change while Python code runs
    for (Py_ssize_t i = 0; i < count; ++i) f(PyTuple_GetItem(sequence, i));
    return;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(sequence, i));
    if (!item.is_valid()) throw nb::python_error();
    f(item.ptr());
  }
}

std::size_t length_of(PyObject* sequence) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) throw nb::python_error();
  return static_cast<std::size_t>(count);
}

bool is_sequence(PyObject* object) {
  return PyTuple_Check(object) || PyList_Check(object) ||
         (PySequence_Check(object) && !PyUnicode_Check(object) && !is_tensor(object) &&
          !has_attribute(object, "__dlpack__"));
}

}  // namespace

std::string type_name(PyObject* object) {
  const nb::handle type = nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const std::string module = nb::str(type.attr("__module__")).c_str();
  const std::string name = nb::str(type.attr("__qualname__")).c_str();
  return module == "builtins" ? name : module + "." + name;
}

bool refuse_foreign_tensor(PyObject* object) {
  if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) || object == Py_None ||
      is_tensor(object) || !has_attribute(object, "__dlpack__"))
    return false;
  throw ArgumentError("expected a pellucid.Tensor, got " + type_name(object) +
                      ": convert it with pellucid.from_dlpack(x), which copies nothing; "
                      "of a tensor that requires a gradient pass x.detach()");
}

bool is_number(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object)) return true;
  if (is_tensor(object) || dim_of_object(object)) return !is_tensor(object);
  if (PyUnicode_Check(object) || object == Py_None || PyTuple_Check(object) || PyList_Check(object))
    return false;
  // NumPy's numbers. Arrays and tensors of others have __dlpack__.
  return !has_attribute(object, "__dlpack__") &&
         (has_attribute(object, "__index__") || has_attribute(object, "__float__"));
}

Dim to_dim(PyObject* object) {
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) throw ValueError("an integer does not fit in 64 bits");
    return Dim(value);
  }
  if (const std::optional<Dim> dim = dim_of_object(object)) return *dim;
  if (is_tensor(object) ||
      (!PyFloat_Check(object) && is_number(object) && has_attribute(object, "__index__"))) {
    const nb::object integer = nb::steal(PyNumber_Index(object));
    if (!integer.is_valid()) throw nb::python_error();
    return to_dim(integer.ptr());
  }
  throw_wrong_type(object, "an integer");
}

double to_double(PyObject* object) {
  if (!is_number(object)) throw_wrong_type(object, "a float");
  if (const std::optional<Dim> dim = dim_of_object(object))
    return static_cast<double>(dim->value(user_site()));
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return value;
}

Scalar to_scalar(PyObject* object) {
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) throw ValueError("a number does not fit in 64 bits");
    return value;
  }
  if (const std::optional<Dim> dim = dim_of_object(object)) return *dim;
  if (is_tensor(object) && tensor_of(object).dim() == 0) return tensor_of(object).item();
  if (!is_number(object)) throw_wrong_type(object, "a number");
  if (has_attribute(object, "__index__")) return to_dim(object);
  return to_double(object);
}

DType to_dtype(PyObject* object) {
  if (is_dtype(object)) return dtype_of_object(object);
  if (PyUnicode_Check(object)) return dtype_by_name(text_of(object));
  throw_wrong_type(object, "a dtype, such as pellucid.float32");
}

Device to_device(PyObject* object) {
  if (!PyUnicode_Check(object)) throw_wrong_type(object, "a device, such as \"cpu\"");
  const std::string_view text = text_of(object);
  for (const Device device : {kCpu, kMeta, kQueue}) {
    if (text == to_string(device)) return device;
  }
  throw ValueError("there is no device \"" + std::string(text) +
                   "\"; there are \"cpu\", \"meta\" and \"queue\"");
}

std::vector<Dim> to_dims(PyObject* object) {
  std::vector<Dim> dims;
  if (is_sequence(object)) {
    const std::size_t count = length_of(object);
    dims.reserve(count);
    for_each_item(object, static_cast<Py_ssize_t>(count),
                  [&](PyObject* item) { dims.push_back(to_dim(item)); });
  } else {
    if (!is_number(object) && !is_tensor(object)) throw_wrong_type(object, "a sequence of integers");
    dims.push_back(to_dim(object));
  }
  return dims;
}

std::vector<Tensor> to_tensors(PyObject* object) {
  if (!is_sequence(object)) throw_wrong_type(object, "a sequence of Tensors");
  const std::size_t count = length_of(object);
  std::vector<Tensor> tensors;
  tensors.reserve(count);
  for_each_item(object, static_cast<Py_ssize_t>(count), [&](PyObject* item) {
    if (!is_tensor(item)) throw_wrong_type(item, "a sequence of Tensors");
    tensors.push_back(tensor_of(item));
  });
  return tensors;
}

void convert_argument(PyObject* object, const SchemaArg& arg, Device device, Value& out) {
  const ArgType& type = arg.type;
  if (type.base == ArgType::Base::Tensor && !type.is_list && is_tensor(object)) {  // most arguments
    out.emplace<Tensor>(tensor_of(object));
    return;
  }
  if (object == Py_None) {
    if (!type.is_optional) throw_wrong_type(object, expected(type));
    out.emplace<std::monostate>();
    return;
  }
  switch (type.base) {
    case ArgType::Base::Tensor:
      if (type.is_list) {
        out = to_tensors(object);
      } else {
        if (arg.alias.is_written || !is_number(object))
          throw_wrong_type(object, arg.alias.is_written ? "a Tensor, which is written to" : expected(type));
        out = make_number(to_scalar(object), device);
      }
      return;
    case ArgType::Base::Int:
    case ArgType::Base::Dim:
      if (type.is_list) {
        out = to_dims(object);
      } else {
        out = to_dim(object);
      }
      return;
    case ArgType::Base::Float:
      out = to_double(object);
      return;
    case ArgType::Base::Bool:
      if (!PyBool_Check(object)) throw_wrong_type(object, expected(type));
      out = object == Py_True;
      return;
    case ArgType::Base::Scalar:
      out = to_scalar(object);
      return;
    case ArgType::Base::DType:
      out = to_dtype(object);
      return;
    case ArgType::Base::Device:
      out = to_device(object);
      return;
    case ArgType::Base::String:
      if (!PyUnicode_Check(object)) throw_wrong_type(object, expected(type));
      out = std::string(text_of(object));
      return;
    case ArgType::Base::None:
      break;
  }
  throw_wrong_type(object, expected(type));
}

PyObject* to_object(Value&& value) {
  if (Tensor* const tensor = std::get_if<Tensor>(&value)) return new_tensor(std::move(*tensor));
  if (auto* const list = std::get_if<std::vector<Tensor>>(&value)) {
    PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(list->size()));
    if (tuple == nullptr) throw nb::python_error();
    for (std::size_t i = 0; i < list->size(); ++i)
      PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), new_tensor(std::move((*list)[i])));
    return tuple;
  }
  return to_object(std::as_const(value));
}

PyObject* to_object(const Value& value) {
  struct Object {
    PyObject* operator()(std::monostate) const { Py_RETURN_NONE; }
    PyObject* operator()(const Tensor& t) const { return new_tensor(Tensor(t)); }
    PyObject* operator()(const std::vector<Tensor>& list) const { return to_object(Value(list)); }
    PyObject* operator()(Dim dim) const { return new_dim(dim); }
    PyObject* operator()(double number) const { return PyFloat_FromDouble(number); }
    PyObject* operator()(bool is) const { return PyBool_FromLong(is); }
    PyObject* operator()(const Scalar& number) const { return new_number(number); }
    PyObject* operator()(DType dtype) const {
      PyObject* const object = dtype_object(dtype);
      Py_INCREF(object);
      return object;
    }
    PyObject* operator()(Device device) const { return PyUnicode_FromString(to_string(device).c_str()); }
    PyObject* operator()(const std::vector<Dim>& dims) const { return new_shape(dims); }
    PyObject* operator()(const std::string& text) const { return PyUnicode_FromString(text.c_str()); }
  };
  return std::visit(Object(), value);
}

}  // namespace pel::python

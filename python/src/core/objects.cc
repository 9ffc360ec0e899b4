// Tensor and DType: layout, attributes, operators. Ops become methods in op_object.cc.
#include "core/objects.h"

#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include <pellucid/autograd.h>
#include <structmember.h>

#include "core/arguments.h"
#include "core/errors.h"
#include "core/op_object.h"

namespace pel::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* dtype_type = nullptr;

namespace {

// ---- Tensor objects

void dealloc_tensor(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  object->tensor.~Tensor();
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* refuse_new_tensor(PyTypeObject*, PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    throw ArgumentError(
        "Tensor is not called; write pellucid.tensor(data), pellucid.zeros(size) or another function "
        "that returns a tensor.");
  });
}

PyObject* tensor_repr(PyObject* self) {
  return guarded([&] {
    const std::string text = to_string(tensor_of(self));
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

Py_hash_t tensor_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
}

// ---- Operators

// Whether an operator may pass this operand to an op; otherwise Python asks the other operand.
bool is_operand(PyObject* object) {
  return is_tensor(object) || is_number(object) || refuse_foreign_tensor(object);
}

PyObject* call_binary(PyObject* op, PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* const args[] = {a, b};
    return call_op(op, args, 2, nullptr);
  });
}

// Operators and the ops that compute them.
enum Operator : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDivide,
  kRemainder,
  kPow,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLeftShift,
  kRightShift,
  kAddInPlace,
  kSubInPlace,
  kMulInPlace,
  kDivInPlace,
  kFloorDivideInPlace,
  kRemainderInPlace,
  kPowInPlace,
  kAndInPlace,
  kOrInPlace,
  kXorInPlace,
  kNeg,
  kAbs,
  kInvert,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kOperatorCount
};
constexpr const char* kOperatorOps[kOperatorCount] = {"add",
                                                      "sub",
                                                      "mul",
                                                      "div",
                                                      "floor_divide",
                                                      "remainder",
                                                      "pow",
                                                      "matmul",
                                                      "bitwise_and",
                                                      "bitwise_or",
                                                      "bitwise_xor",
                                                      "bitwise_left_shift",
                                                      "bitwise_right_shift",
                                                      "add_",
                                                      "sub_",
                                                      "mul_",
                                                      "div_",
                                                      "floor_divide_",
                                                      "remainder_",
                                                      "pow_",
                                                      "bitwise_and_",
                                                      "bitwise_or_",
                                                      "bitwise_xor_",
                                                      "neg",
                                                      "abs",
                                                      "bitwise_not",
                                                      "eq",
                                                      "ne",
                                                      "lt",
                                                      "le",
                                                      "gt",
                                                      "ge"};

PyObject* operator_op(Operator which) {
  static std::array<PyObject*, kOperatorCount> ops{};
  if (ops[which] == nullptr) ops[which] = op_object(kOperatorOps[which]);
  return ops[which];
}

template <Operator Which>
PyObject* binary(PyObject* a, PyObject* b) {
  return call_binary(operator_op(Which), a, b);
}
template <Operator Which>
PyObject* unary(PyObject* a) {
  return call_op(operator_op(Which), &a, 1, nullptr);
}
template <Operator Which>
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_binary(operator_op(Which), a, b);
}
PyObject* positive(PyObject* self) {
  Py_INCREF(self);
  return self;
}
PyObject* compare(PyObject* a, PyObject* b, int operation) {
  constexpr Operator kComparisons[] = {kLt, kLe, kEq, kNe, kGt, kGe};  // in the order of Py_LT … Py_GE
  return call_binary(operator_op(kComparisons[operation]), a, b);
}

Scalar only_value(const Tensor& t, const char* conversion) {
  if (t.numel() != 1)
    throw ValueError(std::string(conversion) + " of a tensor needs exactly one element; this one has sizes " +
                     to_string(t.sizes()) + ". Reduce it first, for example with any() or all().");
  return t.item();
}
int to_bool(PyObject* self) {
  return guarded([&]() -> int { return only_value(tensor_of(self), "bool()").to_bool() ? 1 : 0; });
}
PyObject* to_int(PyObject* self) {
  return guarded([&] { return PyLong_FromLongLong(only_value(tensor_of(self), "int()").to_int()); });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(only_value(tensor_of(self), "float()").to_double()); });
}
PyObject* to_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (is_floating(tensor_of(self).dtype()))
      throw ArgumentError("A floating tensor is not an index; convert it with to(pellucid.int64).");
    return PyLong_FromLongLong(only_value(tensor_of(self), "An index").to_int());
  });
}

// ---- Length, items, iteration

Py_ssize_t length(PyObject* self) {
  try {
    const Tensor& t = tensor_of(self);
    if (t.dim() == 0) throw ArgumentError("len() of a tensor without axes.");
    return static_cast<Py_ssize_t>(t.sizes()[0].value());
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&] { return new_tensor(get_item(tensor_of(self), index)); });
}
int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&]() -> int {
    if (value == nullptr) throw ArgumentError("Items of a tensor cannot be deleted.");
    set_item(tensor_of(self), index, value);
    return 0;
  });
}
PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (tensor_of(self).dim() == 0) throw ArgumentError("A tensor without axes cannot be iterated.");
    std::vector<Tensor> rows = tensor_of(self).unbind(0);
    const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(rows.size())));
    for (std::size_t i = 0; i < rows.size(); ++i)
      PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), new_tensor(std::move(rows[i])));
    return PyObject_GetIter(list.ptr());
  });
}

// ---- Attributes

template <auto F>
PyObject* getter(PyObject* self, void*) {
  return guarded([&] { return F(tensor_of(self)); });
}
PyObject* new_bool(bool value) { return PyBool_FromLong(value); }
PyObject* get_shape(const Tensor& t) { return new_shape(t.sizes()); }
PyObject* get_strides(const Tensor& t) { return new_shape(t.strides()); }
PyObject* get_rank(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* get_dtype(const Tensor& t) {
  PyObject* const object = dtype_object(t.dtype());
  Py_INCREF(object);
  return object;
}
PyObject* get_device(const Tensor& t) { return PyUnicode_FromString(to_string(t.device()).c_str()); }
PyObject* get_read_only(const Tensor& t) { return new_bool(t.is_read_only()); }
PyObject* get_item_size(const Tensor& t) { return PyLong_FromLongLong(size_bytes(t.dtype())); }
PyObject* get_bytes(const Tensor& t) { return new_dim(t.numel() * size_bytes(t.dtype())); }
PyObject* get_version(const Tensor& t) { return PyLong_FromUnsignedLong(t.version()); }
PyObject* get_transposed(const Tensor& t) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = t.dim(); axis-- > 0;) axes.push_back(axis);
  return new_tensor(t.permute(Axes(axes.data(), axes.size()), user_site()));
}
PyObject* get_matrix_transposed(const Tensor& t) { return new_tensor(t.transpose(-2, -1, user_site())); }
PyObject* get_requires_grad(const Tensor& t) { return new_bool(t.requires_grad()); }
PyObject* get_is_leaf(const Tensor& t) { return new_bool(t.is_leaf()); }
PyObject* get_grad(const Tensor& t) { return new_tensor(t.grad()); }

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    if (value == nullptr || !PyBool_Check(value)) throw ArgumentError("requires_grad is True or False.");
    tensor_of(self).requires_grad_(value == Py_True ? RequiresGrad::Yes : RequiresGrad::No, user_site());
    return 0;
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    if (value == nullptr || value == Py_None) {
      tensor_of(self).set_grad(Tensor(), user_site());
    } else if (is_tensor(value)) {
      tensor_of(self).set_grad(tensor_of(value), user_site());
    } else {
      throw ArgumentError("grad is a Tensor or None, not " + type_name(value) + ".");
    }
    return 0;
  });
}

#define PEL_GETTER(name, function, doc) {name, getter<function>, nullptr, doc, nullptr}
PyGetSetDef tensor_attributes[] = {
    PEL_GETTER("shape", get_shape, "The sizes of the axes, as a tuple."),
    PEL_GETTER("strides", get_strides, "The strides of the axes in elements, as a tuple."),
    PEL_GETTER("ndim", get_rank, "The number of axes."),
    PEL_GETTER("dtype", get_dtype, "The dtype of the elements."),
    PEL_GETTER("device", get_device, "The device of the data, such as \"cpu\"."),
    PEL_GETTER("is_read_only", get_read_only, "Whether the memory must not be written to."),
    PEL_GETTER("itemsize", get_item_size, "The size of an element in bytes."),
    PEL_GETTER("nbytes", get_bytes, "The size of all elements in bytes."),
    PEL_GETTER("_version", get_version, "Counts writes to the memory."),
    PEL_GETTER("T", get_transposed, "A view with the axes in reverse order."),
    PEL_GETTER("mT", get_matrix_transposed, "A view with the last two axes swapped."),
    PEL_GETTER("is_leaf", get_is_leaf, "Whether gradients end here: not the result of a recorded call."),
    {"requires_grad", getter<get_requires_grad>, set_requires_grad,
     "Whether calls on this tensor are recorded.", nullptr},
    {"grad", getter<get_grad>, set_grad, "The gradient that backward() added up, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
#undef PEL_GETTER

PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, slot(dealloc_tensor)},
    {Py_tp_new, slot(refuse_new_tensor)},
    {Py_tp_repr, slot(tensor_repr)},
    {Py_tp_hash, slot(tensor_hash)},
    {Py_tp_richcompare, slot(compare)},
    {Py_tp_iter, slot(iterate)},
    {Py_tp_getset, tensor_attributes},
    {Py_tp_members, tensor_members},
    {Py_tp_doc,
     const_cast<char*>("A reference to strided data. Made by tensor(), zeros(), from_numpy() and other "
                       "functions.")},
    {Py_mp_length, slot(length)},
    {Py_mp_subscript, slot(subscript)},
    {Py_mp_ass_subscript, slot(assign_subscript)},
    {Py_nb_add, slot(binary<kAdd>)},
    {Py_nb_subtract, slot(binary<kSub>)},
    {Py_nb_multiply, slot(binary<kMul>)},
    {Py_nb_true_divide, slot(binary<kDiv>)},
    {Py_nb_floor_divide, slot(binary<kFloorDivide>)},
    {Py_nb_remainder, slot(binary<kRemainder>)},
    {Py_nb_power, slot(power<kPow>)},
    {Py_nb_matrix_multiply, slot(binary<kMatmul>)},
    {Py_nb_and, slot(binary<kAnd>)},
    {Py_nb_or, slot(binary<kOr>)},
    {Py_nb_xor, slot(binary<kXor>)},
    {Py_nb_lshift, slot(binary<kLeftShift>)},
    {Py_nb_rshift, slot(binary<kRightShift>)},
    {Py_nb_inplace_add, slot(binary<kAddInPlace>)},
    {Py_nb_inplace_subtract, slot(binary<kSubInPlace>)},
    {Py_nb_inplace_multiply, slot(binary<kMulInPlace>)},
    {Py_nb_inplace_true_divide, slot(binary<kDivInPlace>)},
    {Py_nb_inplace_floor_divide, slot(binary<kFloorDivideInPlace>)},
    {Py_nb_inplace_remainder, slot(binary<kRemainderInPlace>)},
    {Py_nb_inplace_power, slot(power<kPowInPlace>)},
    {Py_nb_inplace_and, slot(binary<kAndInPlace>)},
    {Py_nb_inplace_or, slot(binary<kOrInPlace>)},
    {Py_nb_inplace_xor, slot(binary<kXorInPlace>)},
    {Py_nb_negative, slot(unary<kNeg>)},
    {Py_nb_positive, slot(positive)},
    {Py_nb_absolute, slot(unary<kAbs>)},
    {Py_nb_invert, slot(unary<kInvert>)},
    {Py_nb_bool, slot(to_bool)},
    {Py_nb_int, slot(to_int)},
    {Py_nb_float, slot(to_float)},
    {Py_nb_index, slot(to_index)},
    {0, nullptr}};
PyType_Spec tensor_spec = {"pellucid.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT, tensor_slots};

// ---- DType objects

// The names of PyTorch and NumPy, in the order of DType.
constexpr std::array<std::string_view, kDTypeCount> kPythonNames = {
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"};
std::array<PyObject*, kDTypeCount> dtype_objects{};

void dealloc_dtype(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}
PyObject* dtype_repr(PyObject* self) {
  return guarded([&] {
    return PyUnicode_FromString(("pellucid." + std::string(python_name(dtype_of_object(self)))).c_str());
  });
}
PyObject* dtype_name(PyObject* self, void*) {
  return PyUnicode_FromString(std::string(python_name(dtype_of_object(self))).c_str());
}
PyObject* dtype_item_size(PyObject* self, void*) {
  return PyLong_FromLongLong(size_bytes(dtype_of_object(self)));
}
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_floating(dtype_of_object(self)));
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {  // copies and unpickled ones are the same object
  return PyUnicode_FromString(std::string(python_name(dtype_of_object(self))).c_str());
}
PyGetSetDef dtype_attributes[] = {
    {"name", dtype_name, nullptr, "The name, such as \"float32\".", nullptr},
    {"itemsize", dtype_item_size, nullptr, "The size of an element in bytes.", nullptr},
    {"is_floating_point", dtype_is_floating, nullptr, "Whether it is a floating dtype.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot dtype_slots[] = {
    {Py_tp_dealloc, slot(dealloc_dtype)},
    {Py_tp_repr, slot(dtype_repr)},
    {Py_tp_getset, dtype_attributes},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, const_cast<char*>("The type of a tensor's elements: pellucid.float32 and others.")},
    {0, nullptr}};
PyType_Spec dtype_spec = {"pellucid.DType", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

PyTypeObject* new_type(nb::module_& m, PyType_Spec& spec, const char* name) {
  PyObject* const type = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr(name) = nb::borrow(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyObject* new_tensor(Tensor&& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  PyObject* const object = PyType_GenericAlloc(tensor_type, 0);
  if (object == nullptr) throw nb::python_error();
  new (&reinterpret_cast<TensorObject*>(object)->tensor) Tensor(std::move(tensor));
  return object;
}

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<std::size_t>(dtype)]; }
std::string_view python_name(DType dtype) { return kPythonNames[static_cast<std::size_t>(dtype)]; }

DType dtype_by_name(std::string_view given) {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (given == python_name(dtype) || given == name(dtype)) return dtype;
    names += (i == 0 ? "" : ", ") + std::string(python_name(dtype));
  }
  throw ArgumentError("There is no dtype \"" + std::string(given) + "\"; there are " + names + ".");
}

PyObject* new_number(const Scalar& value) {
  if (value.is_symbolic()) return new_dim(value.dim());
  switch (value.kind()) {
    case Scalar::Kind::Bool:
      return PyBool_FromLong(value.to_bool());
    case Scalar::Kind::Int:
      return PyLong_FromLongLong(value.to_int());
    case Scalar::Kind::Float:
      break;
  }
  return PyFloat_FromDouble(value.to_double());
}

PyObject* new_shape(Dims dims) {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
  if (tuple == nullptr) throw nb::python_error();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), new_dim(dims[i]));
  }
  return tuple;
}

void add_tensor_type(nb::module_& m) {
  tensor_type = new_type(m, tensor_spec, "Tensor");
  // NumPy then leaves operators with an array on the left to Tensor, which says how to convert.
  nb::handle(reinterpret_cast<PyObject*>(tensor_type)).attr("__array_ufunc__") = nb::none();
}

void add_dtype_type(nb::module_& m) {
  dtype_type = new_type(m, dtype_spec, "DType");
  for (int i = 0; i < kDTypeCount; ++i) {
    PyObject* const object = PyType_GenericAlloc(dtype_type, 0);
    if (object == nullptr) throw nb::python_error();
    reinterpret_cast<DTypeObject*>(object)->dtype = static_cast<DType>(i);
    dtype_objects[static_cast<std::size_t>(i)] = object;
    m.attr(std::string(kPythonNames[static_cast<std::size_t>(i)]).c_str()) = nb::borrow(object);
  }
}

}  // namespace pel::python

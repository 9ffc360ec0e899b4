// Direct calls of C++ functions for the ops that hot_ops.cc lists. Such a call takes 0.6 of the time of a
// boxed one.
#pragma once

#include <type_traits>

#include <pellucid/pellucid.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/objects.h"
#include "core/op_object.h"

namespace pel::python {

template <class R>
PyObject* hot_result(PyObject* first, R&& result) {
  if constexpr (std::is_lvalue_reference_v<R>) {  // in-place ops return their first argument
    Py_INCREF(first);
    return first;
  } else {
    if (result.is_same(tensor_of(first))) {  // x.contiguous() is x
      Py_INCREF(first);
      return first;
    }
    return new_tensor(std::move(result));
  }
}

// F(tensor)
template <auto F>
PyObject* hot_unary(PyObject* const* args, std::size_t count) {
  if (count != 1 || !is_tensor(args[0])) return nullptr;
  const Tensor& self = tensor_of(args[0]);
  if (!is_plain_call(self)) return nullptr;
  return hot_result(args[0], F(self));
}

// F(tensor, tensor), and F(tensor, number) where there is such a function
template <auto F>
PyObject* hot_binary(PyObject* const* args, std::size_t count) {
  if (count != 2 || !is_tensor(args[0])) return nullptr;
  const Tensor& self = tensor_of(args[0]);
  if (!is_plain_call(self)) return nullptr;
  if (is_tensor(args[1])) {
    const Tensor& other = tensor_of(args[1]);
    if (!is_plain_call(other)) return nullptr;
    return hot_result(args[0], F(self, other));
  }
  if constexpr (std::is_invocable_v<decltype(F), const Tensor&, const Scalar&>) {
    if (PyFloat_Check(args[1])) return hot_result(args[0], F(self, Scalar(PyFloat_AsDouble(args[1]))));
    if (PyLong_Check(args[1])) return hot_result(args[0], F(self, to_scalar(args[1])));
  }
  return nullptr;
}

// F(tensor, integer)
template <auto F>
PyObject* hot_with_axis(PyObject* const* args, std::size_t count) {
  if (count != 2 || !is_tensor(args[0]) || !PyLong_Check(args[1])) return nullptr;
  const Tensor& self = tensor_of(args[0]);
  if (!is_plain_call(self)) return nullptr;
  return hot_result(args[0], F(self, to_dim(args[1]).value()));
}

}  // namespace pel::python

// Tensors as arguments and results of functions that are bound with nanobind.
#pragma once

#include <nanobind/nanobind.h>

#include "core/objects.h"

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<pel::Tensor> {
  NB_TYPE_CASTER(pel::Tensor, const_name("Tensor"))

  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    if (!pel::python::is_tensor(object.ptr())) return false;
    value = pel::python::tensor_of(object.ptr());
    return true;
  }
  static handle from_cpp(const pel::Tensor& tensor, rv_policy, cleanup_list*) noexcept {
    return pel::python::new_tensor(pel::Tensor(tensor));
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

// Tensors as DLPack has them, for other parts of the module.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>
#include <pellucid/tensor.h>

#include "core/dlpack_abi.h"

namespace pel::python {

dlpack::DataType to_dlpack(DType dtype);
DType from_dlpack_dtype(dlpack::DataType given);
// A tensor over borrowed memory; `deleter` runs after the last view of it.
Tensor tensor_over(const dlpack::Borrowed& given, bool read_only, std::function<void(void*)> deleter);
// Takes over `managed`: its deleter is called once, now or after the last view.
Tensor take_managed(dlpack::Managed* managed);
// A tensor for another library, which calls the deleter.
dlpack::Managed* export_managed(const Tensor& t);
// The C table of a type of tensors, or null.
const dlpack::ExchangeTable* exchange_table_of(PyTypeObject* type);

}  // namespace pel::python

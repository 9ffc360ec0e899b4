// The parts of pellucid._tools, one function each.
#pragma once

#include <nanobind/nanobind.h>

namespace pel::python {

void bind_doctor(nanobind::module_& m);

}  // namespace pel::python

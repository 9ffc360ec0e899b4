// The class Program of the module: a compiled torch graph, called with torch's tensors.
#pragma once

#include <nanobind/nanobind.h>

namespace pel::python {

void add_torch(nanobind::module_& m);

}  // namespace pel::python

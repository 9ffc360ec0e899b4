// The parts of the module that are bound with nanobind; each is defined in the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace pel::python {

void add_autograd(nanobind::module_& m);
void add_elementwise(nanobind::module_& m);
void add_compile(nanobind::module_& m);
void add_profile(nanobind::module_& m);
void add_runtime(nanobind::module_& m);

}  // namespace pel::python

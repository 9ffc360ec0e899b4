// pellucid._tools: the doctor for Python. It links the doctor's library alone, so it needs neither kernels
// nor LLVM.
#include <nanobind/nanobind.h>

#include "tools/bind.h"

NB_MODULE(_tools, m) {
  nanobind::set_leak_warnings(false);  // notebooks keep results until the end of the process
  pel::python::bind_doctor(m);
}

// The extension module pellucid._core: tensors and ops.
#include <nanobind/nanobind.h>
#include <pellucid/pellucid.h>

NB_MODULE(_core, m) {
  m.attr("__version__") = "0.1.0";
  m.def("op_count", [] { return pel::all_ops().size(); });
}

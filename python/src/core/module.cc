// The extension module pellucid._core: tensors and ops. The package pellucid exports its contents under their
// public names.
#include <nanobind/nanobind.h>
#include <pellucid/error.h>

#include "core/errors.h"
#include "core/module_parts.h"
#include "core/objects.h"
#include "core/op_object.h"
#include "torch/program.h"

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace pel::python;

  nb::set_leak_warnings(false);  // ops live as long as the process
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const pel::Error&) {
      set_python_error();
    } catch (const ArgumentError&) {
      set_python_error();
    }
  });
  m.attr("__version__") = PELLUCID_PACKAGE_VERSION;
  add_dtype_type(m);
  add_dim_type(m);
  add_tensor_type(m);
  add_ops(m);
  add_exchange(m);
  add_autograd(m);
  add_elementwise(m);
  add_compile(m);
  add_profile(m);
  add_runtime(m);
  add_torch(m);
}

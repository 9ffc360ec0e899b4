// Dim: the size of an axis while a function is captured. Outside of that sizes are plain integers.
#include <functional>

#include <nanobind/operators.h>

#include "core/arguments.h"
#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

struct SymbolicDim {
  Dim value;
};
nb::object dim_or_int(Dim dim) { return nb::steal(new_dim(dim)); }

template <class F>
nb::object combined(const SymbolicDim& a, nb::handle b, F&& f) {
  return dim_or_int(f(a.value, to_dim(b.ptr())));
}
// Both sides have the user's line: a > b is b < a, and a guard has the line of the left one.
template <class Relation>
bool compared(const SymbolicDim& a, nb::handle b) {
  const Site site = user_site();
  return Relation()(DimArg(a.value, site), DimArg(to_dim(b.ptr()), site));
}

}  // namespace

PyObject* new_dim(Dim dim) {
  if (!dim.is_symbolic()) return PyLong_FromLongLong(dim.value());
  return nb::cast(SymbolicDim{dim}).release().ptr();
}

std::optional<Dim> dim_of_object(PyObject* object) {
  SymbolicDim* symbolic = nullptr;
  if (!nb::try_cast(nb::handle(object), symbolic) || symbolic == nullptr) return std::nullopt;
  return symbolic->value;
}

void add_dim_type(nb::module_& m) {
  using D = SymbolicDim;
  nb::class_<D>(
      m, "Dim",
      "The size of an axis inside a function that compile captures. Arithmetic keeps it symbolic; a "
      "comparison, or its use as a plain integer, makes the compiled graph depend on it.")
      .def("__add__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return x + y; }); })
      .def("__radd__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return y + x; }); })
      .def("__sub__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return x - y; }); })
      .def("__rsub__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return y - x; }); })
      .def("__mul__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return x * y; }); })
      .def("__rmul__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return y * x; }); })
      .def("__floordiv__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return x / y; }); })
      .def("__rfloordiv__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return y / x; }); })
      .def("__mod__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return x % y; }); })
      .def("__rmod__",
           [](const D& a, nb::handle b) { return combined(a, b, [](Dim x, Dim y) { return y % x; }); })
      .def("__neg__", [](const D& a) { return dim_or_int(-a.value); })
      .def("__eq__", compared<std::equal_to<>>)
      .def("__ne__", compared<std::not_equal_to<>>)
      .def("__lt__", compared<std::less<>>)
      .def("__le__", compared<std::less_equal<>>)
      .def("__gt__", compared<std::greater<>>)
      .def("__ge__", compared<std::greater_equal<>>)
      .def("__index__", [](const D& a) { return a.value.value(user_site()); })
      .def("__int__", [](const D& a) { return a.value.value(user_site()); })
      .def("__float__", [](const D& a) { return static_cast<double>(a.value.value(user_site())); })
      .def("__hash__", [](const D& a) { return a.value.value(user_site()); })
      .def("__repr__", [](const D& a) { return nb::str(to_string(a.value).c_str()); });
}

}  // namespace pel::python

// Ops of the user's own: elementwise ones by a formula that was traced in Python, and those of C++ libraries.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pellucid/extend/elementwise.h>

#include "core/arguments.h"
#include "core/errors.h"
#include "core/module_parts.h"
#include "core/objects.h"
#include "core/op_object.h"

namespace pel::python {
namespace {

// (name of an op, numbers of values), or a number.
FormulaStep step_of(nb::handle step) {
  FormulaStep made;
  if (!nb::isinstance<nb::tuple>(step)) {
    made.number = to_scalar(step.ptr());
    return made;
  }
  made.op = nb::cast<std::string>(step[0]);
  made.args = nb::cast<std::vector<int>>(step[1]);
  return made;
}

// A gradient that a Python function computes: called with the gradient of the result and all arguments, it
// returns that of argument `name`. The function lives as long as the op, which is as long as the process.
void add_python_vjp(OpDef& def, const std::string& name, const std::vector<std::string>& arguments,
                    nb::handle function) {
  std::string saves;
  for (const std::string& argument : arguments) saves += (saves.empty() ? "" : " ") + argument;
  function.inc_ref();
  def.add_vjp(name, saves, [function, arguments, types = def.arg_types](const Vjp& v) -> Tensor {
    const nb::gil_scoped_acquire locked;
    nb::list args;
    args.append(nb::steal(new_tensor(Tensor(v.grad()))));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      args.append(types[i].base == ArgType::Base::Tensor
                      ? nb::steal(new_tensor(Tensor(v[arguments[i]])))
                      : nb::steal(new_number(v.get<Scalar>(arguments[i]))));
    }
    const nb::object result = function(*nb::tuple(args));
    if (!is_tensor(result.ptr()))
      throw ArgumentError("the gradient of an op returned " + type_name(result.ptr()) + ", not a Tensor");
    return tensor_of(result.ptr());
  });
}

}  // namespace

void add_elementwise(nb::module_& m) {
  m.def(
      "_register_elementwise",
      [](const std::string& schema, const nb::list& steps, const nb::list& dtypes, const nb::dict& gradients,
         const std::string& doc) {
        std::vector<FormulaStep> formula;
        for (const nb::handle step : steps) formula.push_back(step_of(step));
        DTypeSet computes;
        for (const nb::handle dtype : dtypes) computes = computes | DTypeSet{to_dtype(dtype.ptr())};
        OpDef def = define_elementwise(schema, std::move(formula), computes);
        const auto arguments = nb::cast<std::vector<std::string>>(gradients["arguments"]);
        for (const auto& [name, function] : nb::cast<nb::dict>(gradients["functions"]))
          add_python_vjp(def, nb::cast<std::string>(name), arguments, function);
        for (const nb::handle name : nb::cast<nb::list>(gradients["constant"]))
          def.add_vjp(nb::cast<std::string>(name), "", nullptr);
        return nb::borrow(add_user_op(register_op(std::move(def)), doc));
      },
      nb::arg("schema"), nb::arg("steps"), nb::arg("dtypes"), nb::arg("gradients"), nb::arg("doc"),
      "Registers an elementwise op.");
  m.def(
      "_set_element_type",
      [](nb::handle type, nb::handle apply) { set_element_type(type.ptr(), apply.ptr()); }, nb::arg("type"),
      nb::arg("apply"), "Names the type of elements in formulas, and what is called if an op gets one.");
  m.def(
      "_op_names",
      [] {
        nb::list names;
        for (const Op* op : all_ops()) names.append(nb::str(op->name().data(), op->name().size()));
        return names;
      },
      "Returns the names of all ops, those registered later too.");
}

}  // namespace pel::python

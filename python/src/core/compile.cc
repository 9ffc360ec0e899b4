// Compiled functions: a Python function over tensors runs once, with symbolic sizes, and from then on as a
// plan of kernels.
#include <memory>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pellucid/compile.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/module_parts.h"
#include "core/tensor_caster.h"

namespace pel::python {
namespace {

// What the function returns: one tensor, or a tuple or list of them.
enum class ResultForm : std::uint8_t { Unknown, One, Tuple, List };

// Shared by the compiled function and its capture, which may outlive the Python object in a running call.
struct PythonFunction {
  explicit PythonFunction(nb::object callable) : function(callable.release().ptr()) {}
  ~PythonFunction() {
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire lock;
    Py_DECREF(function);
  }
  PythonFunction(const PythonFunction&) = delete;
  PythonFunction& operator=(const PythonFunction&) = delete;

  std::vector<Tensor> call(ArrayView<Tensor> inputs) {
    const nb::gil_scoped_acquire lock;
    const nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      PyTuple_SetItem(args.ptr(), static_cast<Py_ssize_t>(i), new_tensor(Tensor(inputs[i])));
    const nb::object result = nb::steal(PyObject_CallObject(function, args.ptr()));
    if (!result.is_valid()) throw nb::python_error();
    if (is_tensor(result.ptr())) {
      form = ResultForm::One;
      return {tensor_of(result.ptr())};
    }
    if (!PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr()))
      throw ArgumentError(
          "a compiled function returns a Tensor, or a tuple or list of them, not " + type_name(result.ptr()),
          "compile");
    form = PyTuple_Check(result.ptr()) ? ResultForm::Tuple : ResultForm::List;
    return to_tensors(result.ptr());
  }

  PyObject* function;
  ResultForm form = ResultForm::Unknown;
};

class CompiledFunction {
 public:
  CompiledFunction(nb::object function, bool verifies_host_code, std::int64_t memory_budget_bytes)
      : function_(std::make_shared<PythonFunction>(std::move(function))),
        compiled_([function = function_](ArrayView<Tensor> inputs) { return function->call(inputs); },
                  CompileOptions{verifies_host_code, memory_budget_bytes}) {}

  nb::object call(const nb::args& args) {
    const std::vector<Tensor> inputs = tensors(args);
    std::vector<Tensor> results;
    {
      const nb::gil_scoped_release unlocked;
      results = compiled_(inputs);
    }
    if (function_->form == ResultForm::One) return nb::steal(new_tensor(std::move(results[0])));
    nb::object tuple = nb::steal(to_object(Value(std::move(results))));
    return function_->form == ResultForm::List ? nb::object(nb::list(tuple)) : tuple;
  }
  CompileExplanation explain(const nb::args& args) {
    if (args.size() == 0) return compiled_.explain();
    const std::vector<Tensor> inputs = tensors(args);
    const nb::gil_scoped_release unlocked;
    return compiled_.explain(inputs);
  }
  CompileExplanation explain_measured(const nb::args& args) {
    const std::vector<Tensor> inputs = tensors(args);
    const nb::gil_scoped_release unlocked;
    return compiled_.explain_measured(inputs);
  }
  std::vector<std::string> kernels(const nb::args& args) {
    const std::vector<Tensor> inputs = tensors(args);
    const nb::gil_scoped_release unlocked;
    return compiled_.kernels(inputs);
  }
  std::int64_t peak_bytes(const nb::args& args) {
    const std::vector<Tensor> inputs = tensors(args);
    const nb::gil_scoped_release unlocked;
    return compiled_.peak_bytes(inputs);
  }
  std::string graph() const { return compiled_.graph(); }
  std::size_t compiles() const { return compiled_.compiles(); }
  std::size_t plans() const { return compiled_.plans(); }
  nb::object function() const { return nb::borrow(function_->function); }

 private:
  static std::vector<Tensor> tensors(const nb::args& args) {
    std::vector<Tensor> inputs;
    for (const nb::handle arg : args) {
      if (!is_tensor(arg.ptr())) {
        refuse_foreign_tensor(arg.ptr());
        throw ArgumentError("a compiled function takes Tensors, not " + type_name(arg.ptr()) +
                                "; other values may be captured from outside of the function",
                            "compile");
      }
      inputs.push_back(tensor_of(arg.ptr()));
    }
    return inputs;
  }
  std::shared_ptr<PythonFunction> function_;
  detail::CompiledTensors compiled_;
};

// The page in a frame of a notebook. The frame has no origin: scripts of the page cannot reach the notebook.
std::string html_for_notebook(const CompileExplanation& explanation) {
  std::string frame = "<iframe title='Pellucid explain' sandbox='allow-scripts' srcdoc='";
  for (const char c : explanation.html()) {
    if (c == '&') {
      frame += "&amp;";
    } else if (c == '\'') {
      frame += "&#39;";
    } else {
      frame += c;
    }
  }
  return frame +
         "' style='width: 100%; height: 640px; border: 1px solid #8884; border-radius: 6px;'></iframe>";
}

}  // namespace

void add_compile(nb::module_& m) {
  nb::class_<CompileExplanation>(m, "CompileExplanation", "What was compiled, and why.")
      .def("__str__", &CompileExplanation::text)
      .def("__repr__", &CompileExplanation::text)
      .def("text", &CompileExplanation::text, "Returns it as text.")
      .def("json", &CompileExplanation::json, "Returns it as JSON, with \"schema\": \"pellucid.compile/1\".")
      .def(
          "html",
          [](const CompileExplanation& explanation, const std::string& title) {
            return explanation.html(title);
          },
          nb::arg("title") = "Compiled function",
          "Returns it as one self-contained page: the graph drawn, each kernel with its calls and reasons.")
      .def("_repr_html_", &html_for_notebook);
  nb::class_<CompiledFunction>(m, "CompiledFunction", "A compiled function, called like the function itself.")
      .def(nb::init<nb::object, bool, std::int64_t>(), nb::arg("function"),
           nb::arg("verifies_host_code") = false, nb::arg("memory_budget_bytes") = 0)
      .def("__call__", &CompiledFunction::call)
      .def("explain", &CompiledFunction::explain,
           "Returns what was compiled, and why. With tensors: for a call with them.")
      .def("explain_measured", &CompiledFunction::explain_measured,
           "Calls the function a few times, and returns what was compiled, and why, with the time of each "
           "kernel.")
      .def("kernels", &CompiledFunction::kernels, "Returns the kernels that run for tensors like these.")
      .def("peak_bytes", &CompiledFunction::peak_bytes,
           "Returns the memory that a call with tensors like these would take, results included.")
      .def("graph", &CompiledFunction::graph, "Returns its graphs, after all passes, as text.")
      .def_prop_ro("compiles", &CompiledFunction::compiles, "How often it was captured.")
      .def_prop_ro("plans", &CompiledFunction::plans, "The number of tuples of sizes that have a plan.")
      .def_prop_ro("__wrapped__", &CompiledFunction::function);
}

}  // namespace pel::python

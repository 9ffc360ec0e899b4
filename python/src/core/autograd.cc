// Gradients, and the scopes in which calls are recorded or not, or may not wait for a device.
#include <functional>
#include <memory>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pellucid/autograd.h>
#include <pellucid/device.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/module_parts.h"
#include "core/tensor_caster.h"

namespace pel::python {
namespace {

// A scope of the library that Python enters and leaves: no_grad, enable_grad, inference_mode, autocast,
// forbid_sync.
class Scope {
 public:
  Scope(std::string kind, nb::handle dtype) : kind_(std::move(kind)) {
    if (kind_ == "autocast") dtype_ = to_dtype(dtype.ptr());
  }
  void enter() {
    if (leave_) throw std::runtime_error("This scope is entered already; make another one.");
    if (kind_ == "no_grad") {
      hold<NoGrad>();
    } else if (kind_ == "enable_grad") {
      hold<EnableGrad>();
    } else if (kind_ == "inference_mode") {
      hold<InferenceMode>();
    } else if (kind_ == "forbid_sync") {
      hold<ForbidSync>(user_site());
    } else {
      hold<Autocast>(dtype_, user_site());
    }
  }
  void leave() { leave_ = nullptr; }

 private:
  template <class T, class... Args>
  void hold(const Args&... args) {
    auto held = std::make_shared<T>(args...);
    leave_ = [held] {};
  }
  std::string kind_;
  DType dtype_ = kBF16;
  std::function<void()> leave_;  // its destruction ends the scope
};

// `gradients`: a tensor or None for each output.
BackwardOptions options(const nb::list& gradients, bool retain_graph, bool create_graph, bool allow_unused) {
  BackwardOptions result;
  result.retain_graph = retain_graph;
  result.create_graph = create_graph;
  result.allow_unused = allow_unused;
  for (const nb::handle gradient : gradients) {
    if (!gradient.is_none() && !is_tensor(gradient.ptr()))
      throw ArgumentError("the gradient of an output is a Tensor or None, not " + type_name(gradient.ptr()),
                          "backward");
    result.gradients.push_back(gradient.is_none() ? Tensor() : tensor_of(gradient.ptr()));
  }
  return result;
}

}  // namespace

void add_autograd(nb::module_& m) {
  nb::class_<Scope>(m, "_Scope")
      .def(nb::init<std::string, nb::handle>(), nb::arg("kind"), nb::arg("dtype").none())
      .def("enter", &Scope::enter)
      .def("leave", &Scope::leave);
  m.def("is_grad_enabled", is_grad_enabled, "Whether calls on tensors that require a gradient are recorded.");
  m.def("is_inference_mode_enabled", is_inference_mode, "Whether this is inside of inference_mode.");
  m.def("_requires_grad_", [](const Tensor& self, bool on) {
    self.requires_grad_(on ? RequiresGrad::Yes : RequiresGrad::No, user_site());
  });
  m.def("_retain_grad", [](const Tensor& self) { self.retain_grad(user_site()); });
  m.def("_backward", [](const std::vector<Tensor>& outputs, const nb::list& gradients, bool retain_graph,
                        bool create_graph) {
    const BackwardOptions how = options(gradients, retain_graph, create_graph, false);
    const Site site = user_site();
    const nb::gil_scoped_release unlocked;
    backward(outputs, how, site);
  });
  m.def("_grad", [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                    const nb::list& gradients, bool retain_graph, bool create_graph, bool allow_unused) {
    const BackwardOptions how = options(gradients, retain_graph, create_graph, allow_unused);
    const Site site = user_site();
    const nb::gil_scoped_release unlocked;
    return grad(outputs, inputs, how, site);
  });
}

}  // namespace pel::python

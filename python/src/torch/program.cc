#include "torch/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pellucid/compile_ahead.h>
#include <pellucid/error.h>
#include <pellucid/ops.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/exchange.h"
#include "torch/description.h"
#include "torch/openmp_runner.h"

namespace pel::python {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// References to the arguments of a call: the list that they came in is emptied, so that the caller's go.
class OwnedArguments {
 public:
  OwnedArguments(PyObject* list, std::size_t count) {
    objects_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      PyObject* const object = PyList_GetItem(list, static_cast<Py_ssize_t>(i));
      Py_INCREF(object);
      objects_.push_back(object);
    }
  }
  ~OwnedArguments() {
    for (PyObject* const object : objects_) Py_XDECREF(object);
  }
  OwnedArguments(const OwnedArguments&) = delete;
  OwnedArguments& operator=(const OwnedArguments&) = delete;
  PyObject* operator[](std::size_t i) const { return objects_[i]; }
  // Needs the interpreter's lock.
  void release(std::size_t i) {
    Py_CLEAR(objects_[i]);
    is_whole_ = false;
  }
  // Puts them back into the list after an error, unless some are released already.
  void restore(PyObject* list) const {
    if (!is_whole_) return;
    for (PyObject* const object : objects_) PyList_Append(list, object);
  }

 private:
  std::vector<PyObject*> objects_;
  bool is_whole_ = true;
};

// What tensors look like in calls with the same numbers.
struct Layout {
  struct OfTensor {
    dlpack::DataType dtype;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t bytes = 0;
  };
  std::vector<std::int64_t> numbers;
  std::vector<OfTensor> tensors;
  std::int64_t input_bytes = 0;
  std::vector<std::int32_t> freed_early;  // the input of each tensor that is freed after its last use, or -1

  // Whether a tensor has the described strides; they count where an axis has several elements. Another dtype
  // or other sizes are an error.
  bool fits(const dlpack::Borrowed& given, std::size_t number) const {
    const OfTensor& wanted = tensors[number];
    const std::size_t rank = wanted.sizes.size();
    if (static_cast<std::size_t>(given.rank) != rank ||
        std::memcmp(&given.dtype, &wanted.dtype, sizeof(wanted.dtype)) != 0 ||
        !std::equal(wanted.sizes.begin(), wanted.sizes.end(), given.sizes))
      throw ValueError("program: tensor " + std::to_string(number) +
                       " has another dtype or other sizes than described");
    if (wanted.bytes == 0) return true;
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (wanted.sizes[axis] > 1 && given.strides[axis] != wanted.strides[axis]) return false;
    return true;
  }
};

class Program {
 public:
  Program(nb::handle tensor_type, nb::handle symbols, nb::handle inputs, nb::handle calls, nb::handle outputs,
          nb::handle returns, bool freezes)
      : table_(exchange_table_of(reinterpret_cast<PyTypeObject*>(tensor_type.ptr()))),
        description_(std::make_shared<ProgramDescription>(symbols, inputs, calls, outputs, returns)) {
    if (table_ == nullptr)
      throw ValueError("program: tensors of this PyTorch have no __dlpack_c_exchange_api__; update PyTorch");
    freezes_ = freezes;
    if (!freezes) compile();
  }

  // Empties the list, so that tensors are freed as soon as nothing uses them. After an error it is as before,
  // unless some of them are freed already.
  nb::object call(const nb::list& args) {
    if (nb::len(args) != description_->inputs.size())
      throw ValueError("program: " + std::to_string(nb::len(args)) + " inputs, described were " +
                       std::to_string(description_->inputs.size()));
    OwnedArguments owned(args.ptr(), description_->inputs.size());
    PyList_SetSlice(args.ptr(), 0, PyList_Size(args.ptr()), nullptr);
    try {
      return call(owned);
    } catch (...) {
      owned.restore(args.ptr());
      throw;
    }
  }
  std::string explain() const { return compiled().explain().text(); }
  std::string graph() const { return compiled().graph(); }
  std::vector<std::string> kernels() const { return compiled().kernels(last_numbers()); }
  std::int64_t peak_bytes() const { return compiled().peak_bytes(last_numbers()); }
  std::size_t compiles() const { return compiled_ == nullptr ? 0 : compiled_->compiles(); }
  std::size_t plans() const { return compiled_ == nullptr ? 0 : compiled_->plans(); }
  std::int64_t calls() const { return calls_; }
  std::int64_t ns() const { return ns_; }
  std::int64_t first_call_ns() const { return first_call_ns_; }
  std::int64_t compile_ns() const { return compile_ns_; }
  std::int64_t copies_for_strides() const { return description_->copies_for_strides; }
  std::int64_t copied_inputs() const { return copied_inputs_; }

 private:
  static constexpr std::size_t kFewCalls = 16;

  nb::object call(OwnedArguments& owned) {
    const std::shared_ptr<ProgramDescription> described = description_;  // freeze() makes another one
    const ProgramDescription& d = *described;
    std::vector<dlpack::Borrowed> tensors(d.tensor_count);
    for (std::size_t i = 0; i < d.inputs.size(); ++i) {
      if (d.inputs[i].kind != ProgramInput::Kind::Tensor) continue;
      if (table_->borrowed_from_object(owned[i], &tensors[d.inputs[i].number]) != 0) throw nb::python_error();
    }
    std::vector<std::int64_t> numbers(d.symbols.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = value_of(d.symbols[i], owned, tensors);
    if (layout_ == nullptr || numbers != layout_->numbers) layout_ = make_layout(numbers);
    const std::shared_ptr<const Layout> layout = layout_;  // other threads may call it with other sizes
    if (freezes_) freeze(owned, tensors, *layout);

    std::vector<void*> data;
    data.reserve(tensors.size());
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (freezes_ && description_->frozen[i].defined()) continue;
      if (tensors[i].data == nullptr) {
        data.push_back(nullptr);
      } else if (layout->fits(tensors[i], i)) {
        data.push_back(first_element(tensors[i]));
      } else {
        copies.push_back(copied(tensors[i], i, *layout));
        data.push_back(copies.back().raw_data());
      }
    }
    std::vector<Tensor> results;
    {
      const bool unlocks = layout->input_bytes >= kMinBytesToUnlock || d.calls.size() > kFewCalls;
      UnlockScope unlocked(unlocks);
      const std::int64_t begin = now_ns();
      if (unlocks && !layout->freed_early.empty()) {
        results = (*compiled_)(data, numbers, [&](std::size_t passed) {
          const std::int32_t input = layout->freed_early[passed];
          if (input < 0) return;
          const LockScope locked(unlocked);
          owned.release(static_cast<std::size_t>(input));
        });
      } else {
        results = (*compiled_)(data, numbers);
      }
      const std::int64_t ns = now_ns() - begin;
      if (calls_++ == 0) first_call_ns_ = ns;
      ns_ += ns;
    }
    return returned(owned, results, layout->numbers);
  }

  const CompiledAhead& compiled() const {
    if (compiled_ == nullptr)
      throw ValueError("program: parameters are frozen at the first call; call it first");
    return *compiled_;
  }
  // Of the last call; before the first one, the examples.
  std::vector<std::int64_t> last_numbers() const {
    if (layout_ != nullptr) return layout_->numbers;
    std::vector<std::int64_t> examples;
    for (const SymbolSource& source : description_->symbols) examples.push_back(source.example);
    return examples;
  }
  void compile() {
    const std::int64_t begin = now_ns();
    const nb::gil_scoped_release unlocked;
    packed_ = description_->pack_frozen();
    compiled_ = std::make_unique<CompiledAhead>(
        description_->numbers(),
        [description = description_](Dims symbols) { return description->describe(symbols); },
        [description = description_](ArrayView<Tensor> tensors, Dims symbols) {
          return description->run(tensors, symbols);
        });
    compile_ns_ += now_ns() - begin;
  }
  // Parameters become constants at the first call, and again if one has moved since.
  void freeze(const OwnedArguments& owned, const std::vector<dlpack::Borrowed>& tensors,
              const Layout& layout) {
    const auto is_current = [&](const ProgramInput& input) {
      return input.kind != ProgramInput::Kind::Tensor || !input.is_static ||
             !description_->frozen[input.number].defined() ||
             description_->frozen[input.number].raw_data() == first_element(tensors[input.number]);
    };
    if (compiled_ != nullptr && std::ranges::all_of(description_->inputs, is_current)) return;
    auto bound = std::make_shared<ProgramDescription>(*description_);
    bound->frozen.assign(tensors.size(), Tensor());
    for (std::size_t i = 0; i < bound->inputs.size(); ++i) {
      const ProgramInput& input = bound->inputs[i];
      if (input.kind != ProgramInput::Kind::Tensor || !input.is_static) continue;
      if (!layout.fits(tensors[input.number], input.number)) continue;
      dlpack::Managed* managed = nullptr;
      if (table_->managed_from_object(owned[i], &managed) != 0) throw nb::python_error();
      bound->frozen[input.number] = take_managed(managed);
    }
    description_ = std::move(bound);
    compile();
  }

  static std::int64_t value_of(const SymbolSource& source, const OwnedArguments& owned,
                               const std::vector<dlpack::Borrowed>& tensors, const ProgramDescription& d) {
    if (source.what == SymbolSource::What::Value) {
      const long long value = PyLong_AsLongLong(owned[source.input]);
      if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
      return value;
    }
    const dlpack::Borrowed& tensor = tensors[d.inputs[source.input].number];
    if (static_cast<std::int64_t>(source.axis) >= tensor.rank)
      throw ValueError("program: input " + std::to_string(source.input) + " has " +
                       std::to_string(tensor.rank) + " axes, fewer than described");
    return (source.what == SymbolSource::What::Size ? tensor.sizes : tensor.strides)[source.axis];
  }
  std::int64_t value_of(const SymbolSource& source, const OwnedArguments& owned,
                        const std::vector<dlpack::Borrowed>& tensors) const {
    return value_of(source, owned, tensors, *description_);
  }

  std::shared_ptr<const Layout> make_layout(const std::vector<std::int64_t>& numbers) const {
    auto made = std::make_shared<Layout>();
    const std::vector<Dim> dims(numbers.begin(), numbers.end());
    made->numbers = numbers;
    for (const ProgramInput& input : description_->inputs) {
      if (input.kind != ProgramInput::Kind::Tensor) continue;
      Layout::OfTensor& tensor = made->tensors.emplace_back();
      tensor.dtype = to_dlpack(input.dtype);
      tensor.bytes = size_bytes(input.dtype);
      for (const SizeExpression& size : input.sizes) {
        tensor.sizes.push_back(size.evaluate(dims).value());
        tensor.bytes *= tensor.sizes.back();
      }
      for (const SizeExpression& stride : input.strides)
        tensor.strides.push_back(stride.evaluate(dims).value());
      made->input_bytes += tensor.bytes;
    }
    if (!freezes_) set_freed_early(*made);  // otherwise numbers of inputs differ from those of tensors
    return made;
  }
  // Large tensors that the call may hold the last reference to, such as what forward saved for backward.
  void set_freed_early(Layout& layout) const {
    layout.freed_early.assign(layout.tensors.size(), -1);
    for (std::size_t i = 0; i < description_->inputs.size(); ++i) {
      const ProgramInput& input = description_->inputs[i];
      if (input.kind == ProgramInput::Kind::Tensor && !input.is_static &&
          layout.tensors[input.number].bytes >= kMinBytesToUnlock)
        layout.freed_early[input.number] = static_cast<std::int32_t>(i);
    }
    for (const ProgramReturn& wanted : description_->returns)
      if (wanted.kind == ProgramReturn::Kind::Input || wanted.kind == ProgramReturn::Kind::View)
        layout.freed_early[description_->inputs[wanted.number].number] = -1;
    if (std::ranges::all_of(layout.freed_early, [](std::int32_t input) { return input < 0; }))
      layout.freed_early.clear();
  }
  static void* first_element(const dlpack::Borrowed& tensor) {
    return static_cast<char*>(tensor.data) + tensor.byte_offset;
  }
  Tensor copied(const dlpack::Borrowed& tensor, std::size_t number, const Layout& layout) {
    if (description_->is_written[number])
      throw ValueError("program: tensor " + std::to_string(number) +
                       " is written to, and has other strides than described");
    const Layout::OfTensor& wanted = layout.tensors[number];
    const std::vector<Dim> sizes(wanted.sizes.begin(), wanted.sizes.end()),
        strides(wanted.strides.begin(), wanted.strides.end());
    const Tensor given = tensor_over(tensor, false, [](void*) {});
    Tensor copy = empty_strided(sizes, strides, TensorOptions(given.dtype()));
    copy.copy_(given);
    ++copied_inputs_;
    return copy;
  }

  nb::object returned(const OwnedArguments& owned, const std::vector<Tensor>& results,
                      const std::vector<std::int64_t>& numbers) const {
    const ProgramDescription& d = *description_;
    const std::vector<Dim> dims(numbers.begin(), numbers.end());
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(d.returns.size())));
    for (std::size_t i = 0; i < d.returns.size(); ++i) {
      nb::object each = one_returned(d.returns[i], owned, results, dims);
      PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), each.release().ptr());
    }
    return list;
  }
  nb::object one_returned(const ProgramReturn& wanted, const OwnedArguments& owned,
                          const std::vector<Tensor>& results, Dims symbols) const {
    using Kind = ProgramReturn::Kind;
    switch (wanted.kind) {
      case Kind::Nothing:
        return nb::none();
      case Kind::Input:
        return nb::borrow(owned[wanted.number]);
      case Kind::Size:
        return nb::int_(wanted.offset.evaluate(symbols).value());
      case Kind::View: {
        const nb::handle base = owned[wanted.number];
        const std::int64_t offset =
            nb::cast<std::int64_t>(base.attr("storage_offset")()) + wanted.offset.evaluate(symbols).value();
        return base.attr("as_strided")(python_list(evaluate(wanted.sizes, symbols)),
                                       python_list(evaluate(wanted.strides, symbols)), offset);
      }
      case Kind::Result: {
        void* object = nullptr;
        if (table_->object_from_managed(export_managed(results[wanted.number]), &object) != 0)
          throw nb::python_error();
        return nb::steal(static_cast<PyObject*>(object));
      }
    }
    return nb::none();
  }
  static nb::list python_list(const std::vector<Dim>& dims) {
    nb::list list;
    for (const Dim dim : dims) list.append(dim.value());
    return list;
  }

  const dlpack::ExchangeTable* table_;
  std::shared_ptr<ProgramDescription> description_;
  std::unique_ptr<CompiledAhead> compiled_;
  std::shared_ptr<const Layout> layout_;  // of the last call
  bool freezes_ = false;
  std::vector<PackedMatrix> packed_;  // of frozen parameters
  std::int64_t calls_ = 0, ns_ = 0, first_call_ns_ = 0, compile_ns_ = 0, copied_inputs_ = 0;
};

}  // namespace

void add_torch(nb::module_& m) {
  nb::module_ torch = m.def_submodule("_torch", "Compiled graphs of PyTorch.");
  torch.def("use_loaded_openmp", use_loaded_openmp,
            "Runs kernels on the OpenMP threads that PyTorch has started; False if it has none.");
  nb::class_<Program>(torch, "Program", "A compiled torch graph, called with a list of tensors.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, bool>(),
           nb::arg("tensor_type"), nb::arg("symbols"), nb::arg("inputs"), nb::arg("calls"),
           nb::arg("outputs"), nb::arg("returns"), nb::arg("freezes") = false)
      .def(
          "__call__", [](Program& self, const nb::list& args) { return self.call(args); }, nb::arg("args"))
      .def("explain", &Program::explain, "Returns what was compiled, and why.")
      .def("graph", &Program::graph, "Returns its graphs, after all passes, as text.")
      .def("kernels", &Program::kernels, "Returns the kernels of the last call.")
      .def("peak_bytes", &Program::peak_bytes,
           "Returns the memory that a call as the last one adds, results included.")
      .def_prop_ro("compiles", &Program::compiles, "How often it was captured.")
      .def_prop_ro("plans", &Program::plans, "The number of tuples of sizes that have a plan.")
      .def_prop_ro("calls", &Program::calls)
      .def_prop_ro("ns", &Program::ns, "The time of all calls.")
      .def_prop_ro("first_call_ns", &Program::first_call_ns)
      .def_prop_ro("compile_ns", &Program::compile_ns, "The time of capture, compile and the first plan.")
      .def_prop_ro("copies_for_strides", &Program::copies_for_strides,
                   "Outputs that are copied into the strides that PyTorch wants.")
      .def_prop_ro("copied_inputs", &Program::copied_inputs,
                   "Inputs that had other strides than described, and were copied.");
}

}  // namespace pel::python

#include "torch/program.h"

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
    for (PyObject* const object : objects_) Py_DECREF(object);
  }
  OwnedArguments(const OwnedArguments&) = delete;
  OwnedArguments& operator=(const OwnedArguments&) = delete;
  PyObject* operator[](std::size_t i) const { return objects_[i]; }

 private:
  std::vector<PyObject*> objects_;
};

class Program {
 public:
  Program(nb::handle tensor_type, nb::handle symbols, nb::handle inputs, nb::handle calls, nb::handle outputs,
          nb::handle returns)
      : table_(exchange_table_of(reinterpret_cast<PyTypeObject*>(tensor_type.ptr()))),
        description_(std::make_shared<ProgramDescription>(symbols, inputs, calls, outputs, returns)) {
    if (table_ == nullptr)
      throw ValueError("program: tensors of this PyTorch have no __dlpack_c_exchange_api__; update PyTorch");
    for (const ProgramInput& input : description_->inputs)
      if (input.kind == ProgramInput::Kind::Tensor) wanted_dtypes_.push_back(to_dlpack(input.dtype));
    const std::int64_t begin = now_ns();
    const nb::gil_scoped_release unlocked;
    compiled_ = std::make_unique<CompiledAhead>(
        description_->numbers(),
        [description = description_](Dims symbols) { return description->describe(symbols); },
        [description = description_](ArrayView<Tensor> tensors, Dims symbols) {
          return description->run(tensors, symbols);
        });
    compile_ns_ = now_ns() - begin;
  }

  nb::object call(const nb::list& args) {
    const ProgramDescription& d = *description_;
    if (nb::len(args) != d.inputs.size())
      throw ValueError("program: " + std::to_string(nb::len(args)) + " inputs, described were " +
                       std::to_string(d.inputs.size()));
    const OwnedArguments owned(args.ptr(), d.inputs.size());
    PyList_SetSlice(args.ptr(), 0, PyList_Size(args.ptr()), nullptr);

    std::vector<dlpack::Borrowed> tensors(wanted_dtypes_.size());
    for (std::size_t i = 0; i < d.inputs.size(); ++i) {
      if (d.inputs[i].kind != ProgramInput::Kind::Tensor) continue;
      if (table_->borrowed_from_object(owned[i], &tensors[d.inputs[i].number]) != 0) throw nb::python_error();
    }
    std::vector<std::int64_t> numbers(d.symbols.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = value_of(d.symbols[i], owned, tensors);
    if (!has_layout_ || numbers != numbers_) set_layout(numbers);

    std::vector<void*> data(tensors.size());
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!has_wanted_layout(tensors[i], i)) copies.push_back(copied(tensors[i], i));
      data[i] = has_wanted_layout_now_ ? static_cast<char*>(tensors[i].data) + tensors[i].byte_offset
                                       : copies.back().raw_data();
      if (tensors[i].data == nullptr) data[i] = nullptr;
    }
    std::vector<Tensor> results;
    {
      const UnlockScope unlocked(input_bytes_ >= kMinBytesToUnlock || d.calls.size() > kFewCalls);
      const std::int64_t begin = now_ns();
      results = (*compiled_)(data, numbers);
      const std::int64_t ns = now_ns() - begin;
      if (calls_++ == 0) first_call_ns_ = ns;
      ns_ += ns;
    }
    return returned(owned, results);
  }

  std::string explain() const { return compiled_->explain().text(); }
  std::string graph() const { return compiled_->graph(); }
  std::vector<std::string> kernels() const {
    if (has_layout_) return compiled_->kernels(numbers_);
    std::vector<std::int64_t> examples;
    for (const SymbolSource& source : description_->symbols) examples.push_back(source.example);
    return compiled_->kernels(examples);
  }
  std::size_t compiles() const { return compiled_->compiles(); }
  std::size_t plans() const { return compiled_->plans(); }
  std::int64_t calls() const { return calls_; }
  std::int64_t ns() const { return ns_; }
  std::int64_t first_call_ns() const { return first_call_ns_; }
  std::int64_t compile_ns() const { return compile_ns_; }
  std::int64_t copies_for_strides() const { return description_->copies_for_strides; }
  std::int64_t copied_inputs() const { return copied_inputs_; }

 private:
  static constexpr std::size_t kFewCalls = 16;

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

  // The layout that tensors must have for these numbers.
  void set_layout(const std::vector<std::int64_t>& numbers) {
    const std::vector<Dim> dims(numbers.begin(), numbers.end());
    wanted_.clear();
    begin_of_wanted_.clear();
    input_bytes_ = 0;
    for (const ProgramInput& input : description_->inputs) {
      if (input.kind != ProgramInput::Kind::Tensor) continue;
      begin_of_wanted_.push_back(wanted_.size());
      std::int64_t bytes = size_bytes(input.dtype);
      for (const SizeExpression& size : input.sizes) {
        wanted_.push_back(size.evaluate(dims).value());
        bytes *= wanted_.back();
      }
      for (const SizeExpression& stride : input.strides) wanted_.push_back(stride.evaluate(dims).value());
      input_bytes_ += bytes;
    }
    numbers_ = numbers;
    has_layout_ = true;
  }
  // Strides count where an axis has several elements.
  bool has_wanted_layout(const dlpack::Borrowed& tensor, std::size_t number) {
    const std::int64_t* const sizes = wanted_.data() + begin_of_wanted_[number];
    const std::size_t end =
        number + 1 < begin_of_wanted_.size() ? begin_of_wanted_[number + 1] : wanted_.size();
    const auto rank = static_cast<std::int32_t>((end - begin_of_wanted_[number]) / 2);
    const dlpack::DataType& dtype = wanted_dtypes_[number];
    if (tensor.rank != rank || std::memcmp(&tensor.dtype, &dtype, sizeof(dtype)) != 0 ||
        !std::equal(sizes, sizes + rank, tensor.sizes))
      throw ValueError("program: tensor " + std::to_string(number) +
                       " has another dtype or other sizes than described");
    has_wanted_layout_now_ = true;
    bool is_empty = false;
    for (std::int32_t axis = 0; axis < rank; ++axis) {
      is_empty = is_empty || sizes[axis] == 0;
      if (sizes[axis] > 1 && tensor.strides[axis] != sizes[rank + axis]) has_wanted_layout_now_ = false;
    }
    has_wanted_layout_now_ = has_wanted_layout_now_ || is_empty;
    return has_wanted_layout_now_;
  }
  Tensor copied(const dlpack::Borrowed& tensor, std::size_t number) {
    const std::int64_t* const sizes = wanted_.data() + begin_of_wanted_[number];
    const std::vector<Dim> shape(sizes, sizes + tensor.rank),
        strides(sizes + tensor.rank, sizes + 2 * tensor.rank);
    const Tensor given = tensor_over(tensor, false, [](void*) {});
    Tensor copy = empty_strided(shape, strides, TensorOptions(given.dtype()));
    copy.copy_(given);
    ++copied_inputs_;
    return copy;
  }

  nb::object returned(const OwnedArguments& owned, const std::vector<Tensor>& results) const {
    const ProgramDescription& d = *description_;
    const std::vector<Dim> dims(numbers_.begin(), numbers_.end());
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
  std::vector<dlpack::DataType> wanted_dtypes_;
  // Of the last call: its numbers, then for each tensor sizes and strides.
  bool has_layout_ = false;
  bool has_wanted_layout_now_ = true;
  std::vector<std::int64_t> numbers_, wanted_;
  std::vector<std::size_t> begin_of_wanted_;
  std::int64_t input_bytes_ = 0;
  std::int64_t calls_ = 0, ns_ = 0, first_call_ns_ = 0, compile_ns_ = 0, copied_inputs_ = 0;
};

}  // namespace

void add_torch(nb::module_& m) {
  nb::module_ torch = m.def_submodule("_torch", "Compiled graphs of PyTorch.");
  nb::class_<Program>(torch, "Program", "A compiled torch graph, called with a list of tensors.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("tensor_type"), nb::arg("symbols"), nb::arg("inputs"), nb::arg("calls"),
           nb::arg("outputs"), nb::arg("returns"))
      .def("__call__", &Program::call, nb::arg("args"))
      .def("explain", &Program::explain, "Returns what was compiled, and why.")
      .def("graph", &Program::graph, "Returns its graphs, after all passes, as text.")
      .def("kernels", &Program::kernels, "Returns the kernels of the last call.")
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

// Calls of ops by their records. An Op parses its arguments by the schema into boxed values, dispatches them,
// and wraps the results.
#include "core/op_object.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <structmember.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

constexpr std::size_t kMaxArgs = 24;
// The flag of PEP 590 types and the bit that a caller may set in the number of arguments. Both are in the
// stable ABI since Python 3.12, and have had these values since 3.9.
constexpr unsigned kHasVectorcall = 1u << 11;
constexpr std::size_t kArgumentsOffset = std::size_t{1} << (8 * sizeof(std::size_t) - 1);
using Vectorcall = PyObject* (*)(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names);

struct OpObject {
  PyObject_HEAD Vectorcall vectorcall;
  const Op* op;
  const Schema* schema;
  HotCall hot;             // null: always by the record
  PyObject* const* names;  // of the arguments; interned
  std::uint8_t arg_count, positional_count;
  std::int8_t list_at;  // the argument that takes all further positional integers, as in view(2, 3); -1: none
  std::int8_t returned_at;  // the argument that is written to and returned; -1: none
  PyObject* out_op;         // the Op NAME.out, called for `out=`; null: none
  const OpDoc* doc;         // null: the header has no comment
  PyObject* signature;      // made when it is first asked for
};
PyTypeObject* op_type = nullptr;
std::unordered_map<std::string_view, PyObject*>* ops_by_name = nullptr;

OpObject* op_of(PyObject* object) { return reinterpret_cast<OpObject*>(object); }

// ---- Boxed calls, reused so that their vectors keep their memory. Used while the interpreter's lock is
// held.

class ReusedCall {
 public:
  ReusedCall() {
    if (free_calls().empty()) {
      call_ = new BoxedCall{};
    } else {
      call_ = free_calls().back();
      free_calls().pop_back();
    }
  }
  ~ReusedCall() {
    call_->args.clear();
    call_->results.clear();
    free_calls().push_back(call_);
  }
  ReusedCall(const ReusedCall&) = delete;
  ReusedCall& operator=(const ReusedCall&) = delete;
  BoxedCall* operator->() { return call_; }
  BoxedCall& operator*() { return *call_; }

 private:
  static std::vector<BoxedCall*>& free_calls() {
    static auto& calls = *new std::vector<BoxedCall*>();
    return calls;
  }
  BoxedCall* call_;
};

// ---- Arguments

std::string text_of(PyObject* unicode) {
  const char* const text = PyUnicode_AsUTF8AndSize(unicode, nullptr);
  if (text == nullptr) throw nb::python_error();
  return text;
}

std::size_t argument_index(const OpObject& op, PyObject* name) {
  for (std::size_t i = 0; i < op.arg_count; ++i) {
    if (op.names[i] == name) return i;
  }
  for (std::size_t i = 0; i < op.arg_count; ++i) {
    if (PyUnicode_Compare(op.names[i], name) == 0) return i;
  }
  const std::string given = text_of(name);
  if (given == "input" && op.schema->args[0].name == "self") return 0;  // PyTorch's name for it in functions
  throw ArgumentError("there is no argument " + given + ": " + op.op->schema());
}

struct Slots {
  std::array<PyObject*, kMaxArgs> objects{};  // borrowed; null: not passed
  nb::object list;                            // holds the tuple of further integers
};

void place_arguments(const OpObject& op, PyObject* const* args, std::size_t count, PyObject* names,
                     Slots& slots) {
  std::size_t positional = count;
  if (op.list_at >= 0 && count > op.positional_count) {  // view(2, 3)
    const auto from = static_cast<std::size_t>(op.list_at);
    slots.list = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count - from)));
    for (std::size_t i = from; i < count; ++i) {
      Py_INCREF(args[i]);
      PyTuple_SetItem(slots.list.ptr(), static_cast<Py_ssize_t>(i - from), args[i]);
    }
    slots.objects[from] = slots.list.ptr();
    positional = from;
  } else if (count > op.positional_count) {
    throw ArgumentError("got " + std::to_string(count) + " positional arguments, takes " +
                        std::to_string(op.positional_count) + ": " + op.op->schema());
  }
  std::copy_n(args, positional, slots.objects.begin());
  if (names == nullptr) return;
  const Py_ssize_t keyword_count = PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < keyword_count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    const std::size_t at = argument_index(op, name);
    if (slots.objects[at] != nullptr)
      throw ArgumentError("got several values for the argument " + text_of(name));
    slots.objects[at] = args[count + static_cast<std::size_t>(i)];
  }
}

// Fills the values of the call; returns the bytes that it is about, for the decision to unlock.
std::int64_t box_arguments(const OpObject& op, const Slots& slots, std::vector<Value>& values, unsigned& keys,
                           Device& device) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < op.arg_count; ++i) {
    if (slots.objects[i] == nullptr || !is_tensor(slots.objects[i])) continue;
    const Tensor& t = tensor_of(slots.objects[i]);
    device = t.device();
    keys |= detail::keys_of(t);
    bytes += storage_bytes(t);
  }
  values.resize(op.arg_count);
  for (std::size_t i = 0; i < op.arg_count; ++i) {
    const SchemaArg& arg = op.schema->args[i];
    if (slots.objects[i] == nullptr) {
      if (!arg.default_value)
        throw ArgumentError("the argument " + arg.name + " is missing: " + op.op->schema());
      values[i] = *arg.default_value;
      continue;
    }
    try {
      convert_argument(slots.objects[i], arg, device, values[i]);
    } catch (const ArgumentError& error) {
      throw ArgumentError("argument " + arg.name + ": " + error.what(), error.op());
    }
    if (const auto* const list = std::get_if<std::vector<Tensor>>(&values[i])) {
      keys |= detail::keys_of(ArrayView<Tensor>(*list));
      for (const Tensor& t : *list) {
        bytes += storage_bytes(t);
        device = t.device();
      }
    } else if (const auto* const dims = std::get_if<std::vector<Dim>>(&values[i]);
               dims && arg.name == "size") {
      std::int64_t elements = 1;  // of a tensor to be made
      for (const Dim dim : *dims)
        elements *= dim.is_symbolic() ? 1 : std::clamp<std::int64_t>(dim.value(), 0, 1 << 24);
      bytes = std::max(bytes, 4 * elements);
    }
  }
  return bytes;
}

PyObject* results_of(const OpObject& op, const Slots& slots, std::vector<Value>& results) {
  if (op.returned_at >= 0) {
    PyObject* const written = slots.objects[static_cast<std::size_t>(op.returned_at)];
    Py_INCREF(written);
    return written;
  }
  if (results.size() == 1) {
    if (const Tensor* const result = std::get_if<Tensor>(&results[0]);
        result != nullptr && slots.objects[0] != nullptr && is_tensor(slots.objects[0]) &&
        result->is_same(tensor_of(slots.objects[0]))) {
      Py_INCREF(slots.objects[0]);  // x.contiguous() is x
      return slots.objects[0];
    }
    return to_object(std::move(results[0]));
  }
  if (results.empty()) Py_RETURN_NONE;
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (std::size_t i = 0; i < results.size(); ++i)
    PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), to_object(std::move(results[i])));
  return tuple.release().ptr();
}

// ---- Calls

PyObject* call_by_record(const OpObject& op, PyObject* const* args, std::size_t count, PyObject* names) {
  Slots slots;
  place_arguments(op, args, count, names, slots);
  ReusedCall call;
  unsigned tensor_keys = 0;
  Device device = kCpu;
  const std::int64_t bytes = box_arguments(op, slots, call->args, tensor_keys, device);
  call->keys = detail::active_keys(static_cast<std::uint16_t>(tensor_keys));
  call->visited = {};
  call->site = user_site_if_recorded(call->keys, device);
  {
    const UnlockScope unlocked(bytes >= kMinBytesToUnlock);
    detail::dispatch(*op.op, *call);
  }
  return results_of(op, slots, call->results);
}

// add(x, y, out=z): the op add.out takes z first.
PyObject* call_with_out(const OpObject& op, PyObject* const* args, std::size_t count, PyObject* names,
                        Py_ssize_t out_at) {
  const Py_ssize_t keyword_count = PyTuple_Size(names);
  PyObject* const out = args[count + static_cast<std::size_t>(out_at)];
  std::vector<PyObject*> reordered(args, args + count);
  if (out != Py_None) reordered.insert(reordered.begin(), out);
  nb::object others = nb::steal(PyTuple_New(keyword_count - 1));
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < keyword_count; ++i) {
    if (i == out_at) continue;
    reordered.push_back(args[count + static_cast<std::size_t>(i)]);
    PyObject* const name = PyTuple_GetItem(names, i);
    Py_INCREF(name);
    PyTuple_SetItem(others.ptr(), next++, name);
  }
  if (out == Py_None) return call_by_record(op, reordered.data(), count, others.ptr());
  return call_by_record(*op_of(op.out_op), reordered.data(), count + 1, others.ptr());
}

Py_ssize_t out_keyword(const OpObject& op, PyObject* names) {
  if (names == nullptr || op.out_op == nullptr) return -1;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), "out") == 0) return i;
  }
  return -1;
}

// ---- Elements of formulas, which no op takes: such a call is refused first, so others do not pay for it.

PyObject* element_type = nullptr;
PyObject* apply_to_elements = nullptr;

bool has_element(PyObject* const* args, std::size_t count, PyObject* names) {
  if (names != nullptr) count += static_cast<std::size_t>(PyTuple_Size(names));
  return element_type != nullptr && std::any_of(args, args + count, [](PyObject* arg) {
           return reinterpret_cast<PyObject*>(Py_TYPE(arg)) == element_type;
         });
}
PyObject* call_on_elements(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  return guarded([&] {
    nb::list positional;
    for (std::size_t i = 0; i < count; ++i) positional.append(nb::borrow(args[i]));
    nb::dict keywords;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
      keywords[nb::borrow(PyTuple_GetItem(names, i))] = nb::borrow(args[count + static_cast<std::size_t>(i)]);
    return nb::handle(apply_to_elements)(nb::borrow(self), positional, keywords).release().ptr();
  });
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  const OpObject& op = *op_of(self);
  count &= ~kArgumentsOffset;
  try {
    if (op.hot != nullptr && names == nullptr) {
      if (PyObject* const result = op.hot(args, count)) return result;
    }
    if (const Py_ssize_t out_at = out_keyword(op, names); out_at >= 0)
      return call_with_out(op, args, count, names, out_at);
    return call_by_record(op, args, count, names);
  } catch (ArgumentError& error) {
    if (has_element(args, count, names)) return call_on_elements(self, args, count, names);
    error.set_op(op.op->name());
    set_python_error();
  } catch (Error& error) {
    // The path of an error starts at the op that is called; one of the arguments has none yet.
    const std::string_view name = op.op->name();
    if (std::string_view(error.op()).substr(0, name.size()) != name) error.leave_call(name, Site{});
    set_python_error();
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

// For callers that do not know vectorcall.
PyObject* call_with_tuple(PyObject* self, PyObject* args, PyObject* keywords) {
  const auto count = static_cast<std::size_t>(PyTuple_Size(args));
  std::vector<PyObject*> objects;
  for (std::size_t i = 0; i < count; ++i)
    objects.push_back(PyTuple_GetItem(args, static_cast<Py_ssize_t>(i)));
  if (keywords == nullptr || PyDict_Size(keywords) == 0)
    return vectorcall(self, objects.data(), count, nullptr);
  PyObject* const names = PyTuple_New(PyDict_Size(keywords));
  if (names == nullptr) return nullptr;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0, i = 0; PyDict_Next(keywords, &at, &key, &value); ++i) {
    Py_INCREF(key);
    PyTuple_SetItem(names, i, key);
    objects.push_back(value);
  }
  PyObject* const result = vectorcall(self, objects.data(), count, names);
  Py_DECREF(names);
  return result;
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  static PyObject* const method_type =
      nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();
  return PyObject_CallFunctionObjArgs(method_type, self, instance, nullptr);
}

// ---- Attributes

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }
// Without the namespace of a user's op.
std::string python_name(const Op& op) {
  std::string name(op.name());
  if (const std::size_t colons = name.rfind("::"); colons != std::string::npos) name.erase(0, colons + 2);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

template <auto F>
PyObject* getter(PyObject* self, void*) {
  return guarded([&] { return F(*op_of(self)).release().ptr(); });
}
nb::object get_name(const OpObject& op) { return to_str(python_name(*op.op)); }
nb::object get_module(const OpObject&) { return to_str("pellucid"); }
nb::object get_schema(const OpObject& op) { return to_str(op.op->schema()); }
nb::object get_kind(const OpObject& op) { return to_str(name(op.op->kind())); }
nb::object get_is_internal(const OpObject& op) { return nb::bool_(op.doc != nullptr && op.doc->is_internal); }
nb::object get_has_out(const OpObject& op) { return nb::bool_(op.out_op != nullptr); }
nb::object get_is_hot(const OpObject& op) { return nb::bool_(op.hot != nullptr); }
nb::object get_dtypes(const OpObject& op) {
  nb::list list;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (op.op->dtypes().contains(static_cast<DType>(i)))
      list.append(nb::borrow(dtype_object(static_cast<DType>(i))));
  }
  return nb::tuple(list);
}
std::string type_text(const ArgType& type) {
  constexpr const char* kNames[] = {"None", "Tensor", "int",   "Dim",    "float",
                                    "bool", "Scalar", "DType", "Device", "str"};
  return std::string(kNames[static_cast<std::size_t>(type.base)]) + (type.is_list ? "[]" : "") +
         (type.is_optional ? "?" : "");
}
// (name, type, whether it has a default, the default, whether it is passed by keyword alone, whether it is
// variadic)
nb::object get_arguments(const OpObject& op) {
  nb::list list;
  for (std::size_t i = 0; i < op.arg_count; ++i) {
    const SchemaArg& arg = op.schema->args[i];
    const bool has_default = arg.default_value.has_value();
    list.append(
        nb::make_tuple(nb::borrow(op.names[i]), to_str(type_text(arg.type)), has_default,
                       has_default ? nb::steal(to_object(*arg.default_value)) : nb::object(nb::none()),
                       arg.keyword_only, static_cast<int>(i) == op.list_at));
  }
  return list;
}
nb::object get_results(const OpObject& op) {
  nb::list list;
  for (const SchemaArg& result : op.schema->results) list.append(to_str(type_text(result.type)));
  return list;
}
nb::object get_signature(const OpObject& op) {
  if (op.signature == nullptr) {
    auto* const self = const_cast<OpObject*>(&op);
    const nb::handle object(reinterpret_cast<PyObject*>(self));
    self->signature =
        nb::module_::import_("pellucid._signature").attr("signature_of")(object).release().ptr();
  }
  return nb::borrow(op.signature);
}
nb::object get_doc(const OpObject& op) {
  std::string text = op.doc != nullptr && *op.doc->text != '\0' ? std::string(op.doc->text) + "\n\n" : "";
  text += "Schema: " + op.op->schema();
  if (!(op.op->dtypes() == kAllDTypes)) text += "\nDtypes: " + to_string(op.op->dtypes());
  return to_str(text);
}

PyGetSetDef op_attributes[] = {
    {"__name__", getter<get_name>, nullptr, nullptr, nullptr},
    {"__qualname__", getter<get_name>, nullptr, nullptr, nullptr},
    {"__module__", getter<get_module>, nullptr, nullptr, nullptr},
    {"__doc__", getter<get_doc>, nullptr, nullptr, nullptr},
    {"__signature__", getter<get_signature>, nullptr, nullptr, nullptr},
    {"schema", getter<get_schema>, nullptr, "The signature as the registry has it.", nullptr},
    {"kind", getter<get_kind>, nullptr, "Metadata, Kernel, Composite or Sync.", nullptr},
    {"dtypes", getter<get_dtypes>, nullptr, "The dtypes that kernels are launched with.", nullptr},
    {"is_internal", getter<get_is_internal>, nullptr, "Whether the op is for the library's own use.",
     nullptr},
    {"has_out", getter<get_has_out>, nullptr, "Whether it takes out=.", nullptr},
    {"is_hot", getter<get_is_hot>, nullptr, "Whether plain calls go to the C++ function directly.", nullptr},
    {"arguments", getter<get_arguments>, nullptr,
     "For each argument: name, type, whether it has a default, the default, whether it is keyword-only, "
     "whether it takes "
     "all further positional integers.",
     nullptr},
    {"results", getter<get_results>, nullptr, "The types of the results.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* op_repr(PyObject* self) {
  return guarded([&] { return to_str("<op " + op_of(self)->op->schema() + ">").release().ptr(); });
}
PyObject* op_reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Op& op = *op_of(self)->op;
    if (op.name().find("::") == std::string_view::npos)
      return to_str("ops." + python_name(op)).release().ptr();
    const nb::object find = nb::module_::import_("pellucid._elementwise").attr("registered_op");
    return nb::make_tuple(find, nb::make_tuple(to_str(op.name()))).release().ptr();
  });
}
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}
PyType_Slot op_slots[] = {{Py_tp_repr, slot(op_repr)},
                          {Py_tp_call, slot(call_with_tuple)},
                          {Py_tp_descr_get, slot(bind)},
                          {Py_tp_getset, op_attributes},
                          {Py_tp_members, op_members},
                          {Py_tp_methods, op_methods},
                          {0, nullptr}};
PyType_Spec op_spec = {
    "pellucid.Op", sizeof(OpObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_METHOD_DESCRIPTOR | kHasVectorcall,
    op_slots};

// ---- From records

template <class Entry>
const Entry* find_entry(const Entry* entries, std::size_t count, std::string_view name) {
  const Entry* const end = entries + count;
  const Entry* const found =
      std::find_if(entries, end, [&](const Entry& entry) { return name == entry.name; });
  return found == end ? nullptr : found;
}

PyObject* new_op(const Op& op) {
  const Schema& schema = op.signature();
  if (schema.args.size() > kMaxArgs)
    throw std::runtime_error("An op has more arguments than an Op can take.");
  auto* const object = reinterpret_cast<OpObject*>(PyType_GenericAlloc(op_type, 0));
  if (object == nullptr) throw nb::python_error();
  object->vectorcall = vectorcall;
  object->op = &op;
  object->schema = &schema;
  const HotOp* const hot = find_entry(kHotOps, kHotOpCount, op.name());
  object->hot = hot == nullptr ? nullptr : hot->call;
  object->doc = find_entry(kOpDocs, kOpDocCount, op.name());
  object->arg_count = static_cast<std::uint8_t>(schema.args.size());
  object->list_at = object->returned_at = -1;

  auto* const names = new PyObject*[schema.args.size()];  // an Op lives as long as the process
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    const std::string& name = schema.args[i].name;
    names[i] =
        PyUnicode_InternFromString(name == "from" ? "from_" : name.c_str());  // `from` is a word of Python
    if (!schema.args[i].keyword_only) object->positional_count = static_cast<std::uint8_t>(i + 1);
  }
  object->names = names;

  // PyTorch's rule: an integer list that is the last positional argument, with at most a tensor before it.
  const int last = object->positional_count - 1;
  if (last == 0 || (last == 1 && schema.args[0].type == ArgType{ArgType::Base::Tensor, false, false})) {
    const ArgType& type = schema.args[static_cast<std::size_t>(last)].type;
    if (type.is_list && (type.base == ArgType::Base::Dim || type.base == ArgType::Base::Int))
      object->list_at = static_cast<std::int8_t>(last);
  }
  if (schema.results.size() == 1 && schema.results[0].alias.is_written) {
    for (std::size_t i = 0; i < schema.args.size(); ++i) {
      if (schema.args[i].alias.is_written && schema.args[i].alias.set == schema.results[0].alias.set)
        object->returned_at = static_cast<std::int8_t>(i);
    }
  }
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace

PyObject* call_op(PyObject* op, PyObject* const* args, std::size_t count, PyObject* keyword_names) {
  return vectorcall(op, args, count, keyword_names);
}

PyObject* op_object(std::string_view name) {
  const auto found = ops_by_name->find(name);
  return found == ops_by_name->end() ? nullptr : found->second;
}

PyObject* add_user_op(const Op& op, const std::string& doc) {
  PyObject* const object = new_op(op);
  if (!doc.empty()) {  // lives as long as the process, as the op does
    const std::string& text = *new std::string(doc);
    op_of(object)->doc = new OpDoc{op.name().data(), text.c_str(), false};
  }
  ops_by_name->emplace(op.name(), object);
  return object;
}

void set_element_type(PyObject* type, PyObject* apply) {
  Py_INCREF(type);
  Py_INCREF(apply);
  element_type = type;
  apply_to_elements = apply;
}

void add_ops(nb::module_& m) {
  PyObject* const type = PyType_FromModuleAndSpec(m.ptr(), &op_spec, nullptr);
  if (type == nullptr) throw nb::python_error();
  op_type = reinterpret_cast<PyTypeObject*>(type);
  m.attr("Op") = nb::borrow(type);
  ops_by_name = new std::unordered_map<std::string_view, PyObject*>();
  nb::dict ops;
  for (const Op* op : all_ops()) {
    PyObject* const object = new_op(*op);
    ops_by_name->emplace(op->name(), object);
    ops[to_str(op->name())] = nb::borrow(object);
  }
  for (const auto& [name, object] : *ops_by_name)
    op_of(object)->out_op = op_object(std::string(name) + ".out");
  m.attr("ops") = ops;
  // An op that the process registers later.
  m.def(
      "find_op",
      [](const char* name) -> nb::object {
        if (PyObject* const object = op_object(name)) return nb::borrow(object);
        const Op* const op = find_op(name);
        if (op == nullptr) return nb::none();
        return nb::borrow(add_user_op(*op, ""));
      },
      nb::arg("name"), "Returns the op with this name, such as \"add\" or \"demo::axpb\", or None.");
}

}  // namespace pel::python

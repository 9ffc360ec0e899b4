// The Python type Op: one callable object for each op of the registry, made from its record.
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <pellucid/extend/op.h>

namespace pel::python {

namespace nb = nanobind;

// A call without keywords for which the C++ function is called directly: the arguments are tensors, or
// numbers where the function takes them, and nothing but the backend sees the call. Returns null without a
// Python error if the call is another one. Generated from the records into hot_ops.cc.
using HotCall = PyObject* (*)(PyObject* const* args, std::size_t count);
struct HotOp {
  const char* name;
  HotCall call;
};
extern const HotOp kHotOps[];
extern const std::size_t kHotOpCount;

// Comments of the public headers, generated into op_docs.cc. Sorted by name.
struct OpDoc {
  const char* name;
  const char* text;
  bool is_internal;  // declared in pel::internal
};
extern const OpDoc kOpDocs[];
extern const std::size_t kOpDocCount;

// A call of the op with this Python object (an Op), as the vectorcall protocol has it.
PyObject* call_op(PyObject* op, PyObject* const* args, std::size_t count, PyObject* keyword_names);
// The object of a built-in op; borrowed.
PyObject* op_object(std::string_view name);

// Returns the object of an op that was registered after the import; borrowed. `doc` is what help() shows.
PyObject* add_user_op(const Op& op, const std::string& doc);
// An op that gets an object of this type calls `apply(op, args, keywords)`: in the formula of an op, elements
// take the place of tensors.
void set_element_type(PyObject* type, PyObject* apply);

// Makes an Op for each record, in the dict `ops` of the module.
void add_ops(nb::module_& m);

}  // namespace pel::python

// x[index] and x[index] = value. Integers, slices, None and ... return views. Tensors and lists among them
// pick elements: first the others are applied, with a whole slice in place of each tensor, then the op index
// picks along those axes.
#include <algorithm>
#include <optional>
#include <vector>

#include <pellucid/index.h>
#include <pellucid/ops.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/objects.h"

namespace pel::python {
namespace {

struct ParsedIndex {
  std::vector<Index> basic;
  std::vector<Tensor> picks;
  std::vector<std::int64_t> axes;  // of the view that `basic` returns, one for each of picks
};

std::optional<Dim> slice_bound(nb::handle bound) {
  if (bound.is_none()) return std::nullopt;
  return to_dim(bound.ptr());
}

// How many axes of the tensor an index uses up.
std::int64_t axes_of_pick(const Tensor& pick) {
  return pick.dtype() == kBool || pick.dtype() == kU8 ? pick.dim() : 1;
}

std::optional<Tensor> as_pick(PyObject* item) {
  if (is_tensor(item)) return tensor_of(item);
  if (PyList_Check(item)) return tensor_from_data(item, Py_None, Py_None);
  if (PyBool_Check(item)) return tensor_from_data(item, Py_None, Py_None);
  refuse_foreign_tensor(item);
  return std::nullopt;
}

ParsedIndex parse_index(const Tensor& self, PyObject* index) {
  std::vector<nb::object> items;
  if (PyTuple_Check(index)) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(index); ++i)
      items.push_back(nb::borrow(PyTuple_GetItem(index, i)));
  } else {
    items.push_back(nb::borrow(index));
  }

  // The number of axes that ... replaces.
  std::int64_t used = 0;
  for (const nb::object& item : items) {
    if (item.is_none() || item.ptr() == Py_Ellipsis) continue;
    const std::optional<Tensor> pick = as_pick(item.ptr());
    used += pick ? axes_of_pick(*pick) : 1;
  }

  ParsedIndex parsed;
  std::int64_t axis = 0;  // of the view
  for (const nb::object& item : items) {
    PyObject* const object = item.ptr();
    if (object == Py_None) {
      parsed.basic.emplace_back(kNewAxis);
      ++axis;
    } else if (object == Py_Ellipsis) {
      parsed.basic.emplace_back(kEllipsis);
      axis += std::max<std::int64_t>(self.dim() - used, 0);
    } else if (PySlice_Check(object)) {
      const nb::object step = item.attr("step");
      parsed.basic.emplace_back(Slice(slice_bound(item.attr("start")), slice_bound(item.attr("stop")),
                                      step.is_none() ? Dim(1) : to_dim(step.ptr())));
      ++axis;
    } else if (const std::optional<Tensor> pick = as_pick(object)) {
      parsed.picks.push_back(*pick);
      parsed.axes.push_back(axis);
      for (std::int64_t i = 0; i < axes_of_pick(*pick); ++i) {
        parsed.basic.emplace_back(Slice());
        ++axis;
      }
    } else if (is_number(object) && !PyFloat_Check(object)) {
      parsed.basic.emplace_back(to_dim(object));
    } else {
      throw ArgumentError("An index is an integer, a slice, None, ..., a Tensor or a list of them, not " +
                          type_name(object) + ".");
    }
  }
  return parsed;
}

Tensor basic_view(const Tensor& self, const ParsedIndex& parsed, const Site& site) {
  return self[IndexList(ArrayView<Index>(parsed.basic), site)];
}

}  // namespace

Tensor get_item(const Tensor& self, PyObject* index) {
  const Site site = user_site_if_recorded(self);
  if (PyLong_Check(index) && !PyBool_Check(index)) return self[IndexList(to_dim(index), site)];
  const ParsedIndex parsed = parse_index(self, index);
  const Tensor view = basic_view(self, parsed, site);
  if (parsed.picks.empty()) return view;
  return pel::index(view, parsed.picks, Axes(parsed.axes.data(), parsed.axes.size()), site);
}

void set_item(const Tensor& self, PyObject* index, PyObject* value) {
  const Site site = user_site_if_recorded(self);
  const ParsedIndex parsed = parse_index(self, index);
  const Tensor view = basic_view(self, parsed, site);
  if (!is_tensor(value) && !is_number(value)) {
    refuse_foreign_tensor(value);
    throw ArgumentError("A Tensor or a number is assigned to items of a tensor, not " + type_name(value) +
                        ".");
  }
  if (parsed.picks.empty()) {
    if (is_tensor(value)) {
      view.copy_(tensor_of(value), site);
    } else {
      view.fill_(to_scalar(value), site);
    }
    return;
  }
  const Tensor values = is_tensor(value)
                            ? tensor_of(value)
                            : full({}, to_scalar(value), TensorOptions(self.dtype(), self.device()));
  index_put_(view, parsed.picks, values, Accumulate::No, Axes(parsed.axes.data(), parsed.axes.size()), site);
}

}  // namespace pel::python

#include "compile/graph_run.h"

#include "base/check.h"
#include "dispatch/record.h"
#include "ops/shared/pointwise.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// An argument as the op takes it.
struct ArgValue {
  GraphRun& run;

  Value operator()(ValueId id) const { return run[id]; }
  Value operator()(const std::vector<ValueId>& ids) const {
    std::vector<Tensor> list;
    for (const ValueId id : ids) list.push_back(run[id]);
    return list;
  }
  Value operator()(Dim dim) const { return run.number(dim); }
  Value operator()(const Scalar& s) const { return number(s); }
  Value operator()(const std::vector<Dim>& dims) const {
    std::vector<Dim> numbers;
    for (const Dim dim : dims) numbers.push_back(run.number(dim));
    return numbers;
  }
  template <class T>
  Value operator()(const T& plain) const {
    return plain;
  }
  Scalar number(const Scalar& s) const { return s.is_symbolic() ? Scalar(run.number(s.dim())) : s; }
};

}  // namespace

Dim GraphRun::number(Dim dim) const {
  if (!dim.is_symbolic() || symbols_ == nullptr) return dim;
  return graph_.sizes->evaluate(dim, *symbols_);
}

std::vector<Value> GraphRun::arguments(const GraphNode& node) {
  const ArgValue values{*this};
  std::vector<Value> args;
  args.reserve(node.args.size());
  const auto& wanted = node.op->record().schema.args;
  // As in an eager call, a number is on the device of the first tensor.
  Device device;
  for (const GraphArg& arg : node.args) {
    const ValueId* id = std::get_if<ValueId>(&arg);
    if (id == nullptr) continue;
    device = graph_[*id].device;
    break;
  }
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const Scalar* number = std::get_if<Scalar>(&node.args[i]);
    const bool is_tensor = wanted[i].type.base == ArgType::Base::Tensor;
    args.push_back(number != nullptr && is_tensor ? make_number(values.number(*number), device)
                                                  : std::visit(values, node.args[i]));
  }
  return args;
}

void GraphRun::call(const GraphNode& node) {
  if (node.is_fused()) {
    for (const GraphNode& inner : node.body) call(inner);
    return;
  }
  // The capture has recorded what these keys do.
  const KeyScope captured({}, KeySet(Key::Autograd) | Key::Autocast);
  std::vector<Value> results;
  try {
    results = call_boxed(*node.op, arguments(node), node.site);
  } catch (Error& error) {
    // The calls around it, which are not made again.
    if (const std::size_t end = node.site.path.rfind(" > "); end != std::string::npos)
      error.leave_call(std::string_view(node.site.path).substr(0, end), node.site);
    throw;
  }
  PEL_CHECK(results.size() == node.results.size(), InternalError, "{} returns as many results as at capture",
            node.op->name());
  for (std::size_t i = 0; i < results.size(); ++i) store(node.results[i], results[i], *node.op);
}

void GraphRun::set(ValueId id, const Tensor& tensor, const Op& op) {
  const GraphValue& expected = graph_[id];
  bool agrees =
      tensor.dtype() == expected.dtype && static_cast<std::size_t>(tensor.dim()) == expected.sizes.size();
  const bool is_empty = tensor.numel() == 0;
  for (std::size_t axis = 0; agrees && axis < expected.sizes.size(); ++axis) {
    const Dim size = tensor.sizes()[axis];
    // Strides of axes of size 1 have no meaning, nor has any stride if there are no elements.
    agrees = size == number(expected.sizes[axis]) &&
             (size <= 1 || is_empty || tensor.strides()[axis] == number(expected.strides[axis]));
  }
  PEL_CHECK(agrees, InternalError,
            "{} returns {} with strides {}, and the graph has another description of %{}:\n{}", op.name(),
            describe(tensor), to_string(tensor.strides()), id.number, to_string(graph_));
  (*this)[id] = tensor;
}

void GraphRun::store(const GraphArg& result, const Value& value, const Op& op) {
  if (const ValueId* id = std::get_if<ValueId>(&result)) set(*id, std::get<Tensor>(value), op);
  if (const auto* ids = std::get_if<std::vector<ValueId>>(&result)) {
    const auto& list = std::get<std::vector<Tensor>>(value);
    PEL_CHECK(list.size() == ids->size(), InternalError, "a list is as long as at capture");
    for (std::size_t i = 0; i < list.size(); ++i) set((*ids)[i], list[i], op);
  }
}

}  // namespace pel::compiler

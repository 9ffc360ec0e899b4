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
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const Scalar* number = std::get_if<Scalar>(&node.args[i]);
    const bool is_tensor = wanted[i].type.base == ArgType::Base::Tensor;
    args.push_back(number != nullptr && is_tensor ? make_number(values.number(*number), kCpu)
                                                  : std::visit(values, node.args[i]));
  }
  return args;
}

void GraphRun::call(const GraphNode& node) {
  if (node.is_fused()) {
    for (const GraphNode& inner : node.body) call(inner);
    return;
  }
  // What these keys do was captured.
  const KeyScope captured({}, KeySet(Key::Autograd) | Key::Autocast);
  std::vector<Value> results = call_boxed(*node.op, arguments(node), node.site);
  PEL_CHECK(results.size() == node.results.size(), InternalError, "{} gives as many results as at capture",
            node.op->name());
  for (std::size_t i = 0; i < results.size(); ++i) keep(node.results[i], results[i], *node.op);
}

void GraphRun::set(ValueId id, const Tensor& tensor, const Op& op) {
  const GraphValue& said = graph_[id];
  bool agrees = tensor.dtype() == said.dtype && static_cast<std::size_t>(tensor.dim()) == said.sizes.size();
  const bool is_empty = tensor.numel() == 0;
  for (std::size_t axis = 0; agrees && axis < said.sizes.size(); ++axis) {
    const Dim size = tensor.sizes()[axis];
    // Strides of axes of size 1 say nothing, and none does where there is no element.
    agrees = size == number(said.sizes[axis]) &&
             (size <= 1 || is_empty || tensor.strides()[axis] == number(said.strides[axis]));
  }
  PEL_CHECK(agrees, InternalError,
            "{} gives {} with strides {}, and the graph has something else for %{}:\n{}", op.name(),
            describe(tensor), to_string(tensor.strides()), id.number, to_string(graph_));
  (*this)[id] = tensor;
}

void GraphRun::keep(const GraphArg& result, const Value& value, const Op& op) {
  if (const ValueId* id = std::get_if<ValueId>(&result)) set(*id, std::get<Tensor>(value), op);
  if (const auto* ids = std::get_if<std::vector<ValueId>>(&result)) {
    const auto& list = std::get<std::vector<Tensor>>(value);
    PEL_CHECK(list.size() == ids->size(), InternalError, "a list is as long as at capture");
    for (std::size_t i = 0; i < list.size(); ++i) set((*ids)[i], list[i], op);
  }
}

}  // namespace pel::compiler

#include "compile/replay.h"

#include "base/check.h"
#include "dispatch/record.h"
#include "ops/family_pointwise.h"
#include "tensor/make.h"

namespace pel::compile {
namespace {

class Replay {
 public:
  Replay(const Graph& graph, const std::vector<std::int64_t>& symbols)
      : graph_(graph), symbols_(symbols), tensors_(graph.values.size()) {}

  std::vector<Tensor> run(ArrayView<Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) at(graph_.inputs[i]) = inputs[i];
    for (std::size_t i = 0; i < graph_.constants.size(); ++i)
      at(graph_.constant_values[i]) = graph_.constants[i];
    for (const GraphNode& node : graph_.nodes) {
      std::vector<Value> args;
      args.reserve(node.args.size());
      const auto& wanted = node.op->record().schema.args;
      for (std::size_t i = 0; i < node.args.size(); ++i) {
        const Scalar* number = std::get_if<Scalar>(&node.args[i]);
        const bool is_tensor = wanted[i].type.base == ArgType::Base::Tensor;
        args.push_back(number != nullptr && is_tensor ? make_number(this->number(*number), kCpu)
                                                      : std::visit(*this, node.args[i]));
      }
      std::vector<Value> results = call_boxed(*node.op, std::move(args), node.site);
      PEL_CHECK(results.size() == node.results.size(), InternalError,
                "{} gives as many results as at capture", node.op->name());
      for (std::size_t i = 0; i < results.size(); ++i) keep(node.results[i], results[i], *node.op);
    }
    std::vector<Tensor> outputs;
    for (const ValueId id : graph_.outputs) outputs.push_back(at(id));
    return outputs;
  }

  // An argument as the op takes it.
  Value operator()(ValueId id) { return at(id); }
  Value operator()(const std::vector<ValueId>& ids) {
    std::vector<Tensor> list;
    for (const ValueId id : ids) list.push_back(at(id));
    return list;
  }
  Value operator()(Dim dim) const { return number(dim); }
  Value operator()(const Scalar& s) const { return number(s); }
  Value operator()(const std::vector<Dim>& dims) const {
    std::vector<Dim> numbers;
    for (const Dim dim : dims) numbers.push_back(number(dim));
    return numbers;
  }
  template <class T>
  Value operator()(const T& plain) const {
    return plain;
  }

 private:
  Tensor& at(ValueId id) { return tensors_[id.number]; }
  Dim number(Dim dim) const { return dim.is_symbolic() ? Dim(graph_.sizes->evaluate(dim, symbols_)) : dim; }
  Scalar number(const Scalar& s) const { return s.is_symbolic() ? Scalar(number(s.dim())) : s; }
  // What a graph says of a value is what passes go by: it has to be so.
  void set(ValueId id, const Tensor& tensor, const Op& op) {
    const GraphValue& said = graph_[id];
    bool agrees = tensor.dtype() == said.dtype && static_cast<std::size_t>(tensor.dim()) == said.sizes.size();
    for (std::size_t axis = 0; agrees && axis < said.sizes.size(); ++axis) {
      const Dim size = tensor.sizes()[axis];
      agrees = size == number(said.sizes[axis]) &&
               (size <= 1 || tensor.strides()[axis] == number(said.strides[axis]));
    }
    PEL_CHECK(agrees, InternalError,
              "{} gives {} with strides {}, and the graph has something else for %{}:\n{}", op.name(),
              describe(tensor), to_string(tensor.strides()), id.number, to_string(graph_));
    at(id) = tensor;
  }
  void keep(const GraphArg& result, const Value& value, const Op& op) {
    if (const ValueId* id = std::get_if<ValueId>(&result)) set(*id, std::get<Tensor>(value), op);
    if (const auto* ids = std::get_if<std::vector<ValueId>>(&result)) {
      const auto& list = std::get<std::vector<Tensor>>(value);
      PEL_CHECK(list.size() == ids->size(), InternalError, "a list is as long as at capture");
      for (std::size_t i = 0; i < list.size(); ++i) set((*ids)[i], list[i], op);
    }
  }

  const Graph& graph_;
  const std::vector<std::int64_t>& symbols_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::vector<Tensor> replay(const Graph& graph, ArrayView<Tensor> inputs,
                           const std::vector<std::int64_t>& symbols) {
  return Replay(graph, symbols).run(inputs);
}

}  // namespace pel::compile

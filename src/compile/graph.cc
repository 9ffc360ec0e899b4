#include "compile/graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/place.h"
#include "dispatch/record.h"
#include "tensor/layout.h"

namespace pel::compile {
namespace {

std::string text(ValueId id) { return fmt::format("%{}", id.number); }

struct ArgText {
  const SymbolicSizes& sizes;

  std::string of(Dim dim) const { return dim.is_symbolic() ? sizes.text(dim) : std::to_string(dim.value()); }
  std::string of(const std::vector<Dim>& dims) const {
    std::vector<std::string> texts;
    for (const Dim dim : dims) texts.push_back(of(dim));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(ValueId id) const { return text(id); }
  std::string operator()(const std::vector<ValueId>& ids) const {
    std::vector<std::string> texts;
    for (const ValueId id : ids) texts.push_back(text(id));
    return fmt::format("({})", fmt::join(texts, ", "));
  }
  std::string operator()(Dim dim) const { return of(dim); }
  std::string operator()(double number) const { return pel::to_string(Scalar(number)); }
  std::string operator()(bool fact) const { return fact ? "true" : "false"; }
  std::string operator()(const Scalar& number) const {
    return number.is_symbolic() ? of(number.dim()) : pel::to_string(number);
  }
  std::string operator()(DType dtype) const { return std::string(name(dtype)); }
  std::string operator()(Device device) const { return pel::to_string(device); }
  std::string operator()(const std::vector<Dim>& dims) const { return of(dims); }
  std::string operator()(const std::string& word) const { return fmt::format("'{}'", word); }
};

std::string type_text(const GraphValue& value, const ArgText& texts) {
  std::string text = fmt::format("{}{}", name(value.dtype), texts.of(value.sizes));
  if (!value.is_row_major) text += " strides " + texts.of(value.strides);
  return text;
}

bool fits(const GraphArg& arg, const ArgType& type) {
  using Base = ArgType::Base;
  if (std::holds_alternative<std::monostate>(arg)) return type.is_optional;
  if (type.is_list)
    return type.base == Base::Tensor ? std::holds_alternative<std::vector<ValueId>>(arg)
                                     : std::holds_alternative<std::vector<Dim>>(arg);
  switch (type.base) {
    case Base::Tensor:
      return std::holds_alternative<ValueId>(arg) || std::holds_alternative<Scalar>(arg);
    case Base::Int:
    case Base::Dim:
      return std::holds_alternative<Dim>(arg);
    case Base::Float:
      return std::holds_alternative<double>(arg) || std::holds_alternative<Dim>(arg);
    case Base::Bool:
      return std::holds_alternative<bool>(arg);
    case Base::Scalar:
      return std::holds_alternative<Scalar>(arg) || std::holds_alternative<Dim>(arg) ||
             std::holds_alternative<double>(arg) || std::holds_alternative<bool>(arg);
    case Base::DType:
      return std::holds_alternative<DType>(arg);
    case Base::Device:
      return std::holds_alternative<Device>(arg);
    case Base::String:
      return std::holds_alternative<std::string>(arg);
    case Base::None:
      break;
  }
  return false;
}

// What an op may give back without making it: an argument that it writes to or shows.
bool is_argument(const GraphNode& node, ValueId id) {
  bool found = false;
  for (const GraphArg& arg : node.args) for_values(arg, [&](ValueId given) { found = found || given == id; });
  return found;
}

}  // namespace

void verify(const Graph& graph) {
  PEL_CHECK(graph.sizes != nullptr, InternalError, "a graph has symbols, if none");
  std::vector<bool> is_made(graph.values.size());
  const auto make = [&](ValueId id, GraphValue::Origin origin, const std::string& where) {
    PEL_CHECK(id.number < graph.values.size(), InternalError, "{}: there is no value %{}", where, id.number);
    PEL_CHECK(graph[id].origin == origin, InternalError, "{}: %{} is of another origin", where, id.number);
    PEL_CHECK(graph[id].sizes.size() == graph[id].strides.size(), InternalError,
              "{}: %{} has {} sizes and {} strides", where, id.number, graph[id].sizes.size(),
              graph[id].strides.size());
    is_made[id.number] = true;
  };
  const auto use = [&](ValueId id, const std::string& where) {
    PEL_CHECK(id.number < graph.values.size() && is_made[id.number], InternalError,
              "{}: %{} is used before it is made", where, id.number);
  };
  for (const ValueId id : graph.inputs) make(id, GraphValue::Origin::Input, "inputs");
  PEL_CHECK(graph.constants.size() == graph.constant_values.size(), InternalError,
            "each constant is a value");
  for (const ValueId id : graph.constant_values) make(id, GraphValue::Origin::Constant, "constants");
  for (const SymbolSource& source : graph.symbols) {
    PEL_CHECK(
        source.input < graph.inputs.size() && source.axis < graph[graph.inputs[source.input]].sizes.size(),
        InternalError, "a symbol is of axis {} of input {}, which is not there", source.axis, source.input);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const std::string where = fmt::format("node {}, {}", i, node.op->name());
    const Schema& schema = node.op->record().schema;
    PEL_CHECK(node.args.size() == schema.args.size(), InternalError, "{}: {} arguments, {} takes {}", where,
              node.args.size(), node.op->schema(), schema.args.size());
    for (std::size_t a = 0; a < node.args.size(); ++a) {
      PEL_CHECK(fits(node.args[a], schema.args[a].type), InternalError, "{}: argument {} is no {}", where,
                schema.args[a].name, to_string(schema.args[a].type));
      for_values(node.args[a], [&](ValueId id) { use(id, where); });
    }
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        if (id.number < graph.values.size() && is_made[id.number]) {
          PEL_CHECK(is_argument(node, id), InternalError, "{}: %{} is made a second time", where, id.number);
        } else {
          make(id, GraphValue::Origin::Node, where);
        }
      });
    }
  }
  for (const ValueId id : graph.outputs) use(id, "outputs");
}

std::string to_string(const GraphArg& arg, const SymbolicSizes& sizes) {
  return std::visit(ArgText{sizes}, arg);
}

std::string to_string(const Graph& graph) {
  const ArgText texts{*graph.sizes};
  std::vector<std::string> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(text(id) + ": " + type_text(graph[id], texts));
  std::string lines = fmt::format("graph({}) {{\n", fmt::join(inputs, ", "));
  for (const SizeGuard& guard : graph.sizes->guards())
    lines += fmt::format("  guard {}\n", graph.sizes->text(guard));
  for (const ValueId id : graph.constant_values)
    lines += fmt::format("  {} = constant : {}\n", text(id), type_text(graph[id], texts));
  for (const GraphNode& node : graph.nodes) {
    std::vector<std::string> results, types, args;
    for (const GraphArg& result : node.results) {
      results.push_back(std::visit(texts, result));
      for_values(result, [&](ValueId id) { types.push_back(type_text(graph[id], texts)); });
    }
    for (const GraphArg& arg : node.args) args.push_back(std::visit(texts, arg));
    lines += fmt::format("  {}{}{}({})", fmt::join(results, ", "), results.empty() ? "" : " = ",
                         node.op->name(), fmt::join(args, ", "));
    if (!types.empty()) lines += fmt::format(" : {}", fmt::join(types, ", "));
    if (node.site.line() != 0) lines += "  # " + short_place(node.site);
    lines += '\n';
  }
  std::vector<std::string> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(text(id));
  return lines + fmt::format("  return {}\n}}\n", fmt::join(outputs, ", "));
}

}  // namespace pel::compile

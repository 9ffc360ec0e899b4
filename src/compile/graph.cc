#include "compile/graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "dispatch/record.h"
#include "tensor/layout.h"

namespace pel::compiler {
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

}  // namespace

namespace {

class Verifier {
  // The node that is looked at, and the call inside of it. Its text is needed for errors alone.
  struct Where {
    std::string_view part;  // inputs, constants or outputs; empty: a node
    std::size_t number = 0;
    const GraphNode* node = nullptr;
    const GraphNode* inner = nullptr;
    std::string text() const {
      if (!part.empty()) return std::string(part);
      return fmt::format("node {}, {}{}{}", number, node->label(), inner == nullptr ? "" : ", ",
                         inner == nullptr ? "" : inner->label());
    }
  };

 public:
  explicit Verifier(const Graph& graph) : graph_(graph), is_produced_(graph.values.size()) {}

  void run() {
    PEL_CHECK(graph_.sizes != nullptr, InternalError, "a graph has a SymbolicSizes, even without symbols");
    for (const ValueId id : graph_.inputs) produce(id, GraphValue::Origin::Input, {"inputs"});
    PEL_CHECK(graph_.constants.size() == graph_.constant_values.size(), InternalError,
              "each constant is a value");
    for (const ValueId id : graph_.constant_values) produce(id, GraphValue::Origin::Constant, {"constants"});
    for (const SymbolSource& source : graph_.symbols) {
      PEL_CHECK(source.what == SymbolSource::What::Number ||
                    (source.input < graph_.inputs.size() &&
                     source.axis < graph_[graph_.inputs[source.input]].sizes.size()),
                InternalError, "a symbol is read from axis {} of input {}, which does not exist", source.axis,
                source.input);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      const Where where{.part = {}, .number = i, .node = &node};
      node.is_fused() ? fused(node, where) : call(node, where);
    }
    for (const ValueId id : graph_.outputs) use(id, {"outputs"});
  }

 private:
  void produce(ValueId id, GraphValue::Origin origin, const Where& where) {
    PEL_CHECK(id.number < graph_.values.size(), InternalError, "{}: there is no value %{}", where.text(),
              id.number);
    PEL_CHECK(graph_[id].origin == origin, InternalError, "{}: %{} has another origin", where.text(),
              id.number);
    PEL_CHECK(graph_[id].sizes.size() == graph_[id].strides.size(), InternalError,
              "{}: %{} has {} sizes and {} strides", where.text(), id.number, graph_[id].sizes.size(),
              graph_[id].strides.size());
    is_produced_[id.number] = true;
  }
  bool is_produced(ValueId id) const { return id.number < graph_.values.size() && is_produced_[id.number]; }
  void use(ValueId id, const Where& where) const {
    PEL_CHECK(is_produced(id), InternalError, "{}: %{} is used before it is produced", where.text(),
              id.number);
  }

  void call(const GraphNode& node, const Where& where) {
    const Schema& schema = node.op->record().schema;
    PEL_CHECK(node.args.size() == schema.args.size(), InternalError, "{}: {} arguments, {} takes {}",
              where.text(), node.args.size(), node.op->schema(), schema.args.size());
    for (std::size_t a = 0; a < node.args.size(); ++a) {
      PEL_CHECK(fits(node.args[a], schema.args[a].type), InternalError, "{}: argument {} is not a {}",
                where.text(), schema.args[a].name, to_string(schema.args[a].type));
      for_values(node.args[a], [&](ValueId id) { use(id, where); });
    }
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        if (is_produced(id)) {
          PEL_CHECK(has_value(node.args, id), InternalError, "{}: %{} is produced a second time",
                    where.text(), id.number);
        } else {
          produce(id, GraphValue::Origin::Node, where);
        }
      });
    }
  }

  void fused(const GraphNode& node, const Where& where) {
    PEL_CHECK(!node.name.empty() && node.op == nullptr && !node.body.empty() && !node.results.empty(),
              InternalError, "{}: a fused node has a name, calls and results, and no op", where.text());
    const std::vector<bool> before = is_produced_;
    for (const GraphArg& arg : node.args) {
      PEL_CHECK(std::holds_alternative<ValueId>(arg), InternalError, "{}: its arguments are values",
                where.text());
      use(std::get<ValueId>(arg), where);
    }
    for (const GraphNode& inner : node.body) {
      PEL_CHECK(!inner.is_fused(), InternalError, "{}: {} is fused itself", where.text(), inner.label());
      for (const GraphArg& arg : inner.args) {
        for_values(arg, [&](ValueId id) {
          PEL_CHECK(!is_produced(id) || !before[id.number] || has_value(node.args, id), InternalError,
                    "{}: {} reads %{}, which is not an argument of the node", where.text(), inner.label(),
                    id.number);
        });
      }
      call(inner, {.part = {}, .number = where.number, .node = &node, .inner = &inner});
    }
    const std::vector<bool> inside = std::exchange(is_produced_, before);
    for (const GraphArg& result : node.results) {
      const ValueId id = std::get<ValueId>(result);
      PEL_CHECK(inside[id.number] && !before[id.number], InternalError, "{}: its body does not produce %{}",
                where.text(), id.number);
      is_produced_[id.number] = true;
    }
  }

  const Graph& graph_;
  std::vector<bool> is_produced_;
};

}  // namespace

std::string_view fused_prefix(NodeKind kind) {
  constexpr std::string_view kPrefixes[] = {"", "poi_fused_", "red_fused_", "gemm_fused_"};
  return kPrefixes[static_cast<int>(kind)];
}

void verify(const Graph& graph) { Verifier(graph).run(); }

bool has_value(const std::vector<GraphArg>& args, ValueId id) {
  bool has = false;
  for (const GraphArg& arg : args) for_values(arg, [&](ValueId other) { has = has || other == id; });
  return has;
}

std::string to_string(const GraphArg& arg, const SymbolicSizes& sizes) {
  return std::visit(ArgText{sizes}, arg);
}

namespace {

std::string node_text(const Graph& graph, const GraphNode& node, const std::string& indent) {
  const ArgText texts{*graph.sizes};
  std::vector<std::string> results, types, args;
  for (const GraphArg& result : node.results) {
    results.push_back(std::visit(texts, result));
    for_values(result, [&](ValueId id) { types.push_back(type_text(graph[id], texts)); });
  }
  for (const GraphArg& arg : node.args) args.push_back(std::visit(texts, arg));
  std::string lines = fmt::format("{}{}{}{}({})", indent, fmt::join(results, ", "),
                                  results.empty() ? "" : " = ", node.label(), fmt::join(args, ", "));
  if (!types.empty()) lines += fmt::format(" : {}", fmt::join(types, ", "));
  if (node.is_fused()) {
    lines += " {\n";
    for (const GraphNode& inner : node.body) lines += node_text(graph, inner, indent + "  ");
    return lines + indent + "}\n";
  }
  if (const std::string at = node.site.text(); !at.empty()) lines += "  # " + at;
  return lines + '\n';
}

}  // namespace

std::string inputs_text(const Graph& graph) {
  const ArgText texts{*graph.sizes};
  std::vector<std::string> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(text(id) + ": " + type_text(graph[id], texts));
  return fmt::format("({})", fmt::join(inputs, ", "));
}

std::string to_string(const Graph& graph) {
  const ArgText texts{*graph.sizes};
  std::string lines = fmt::format("graph{} {{\n", inputs_text(graph));
  for (const SizeGuard& guard : graph.sizes->guards())
    lines += fmt::format("  guard {}{}{}\n", graph.sizes->text(guard), guard.source.empty() ? "" : "  # ",
                         guard.source);
  for (const ValueId id : graph.constant_values)
    lines += fmt::format("  {} = constant : {}\n", text(id), type_text(graph[id], texts));
  for (const GraphNode& node : graph.nodes) lines += node_text(graph, node, "  ");
  std::vector<std::string> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(text(id));
  return lines + fmt::format("  return {}\n}}\n", fmt::join(outputs, ", "));
}

}  // namespace pel::compiler

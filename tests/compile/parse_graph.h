// The text of a graph, as to_string writes it, to a graph: how tests write graphs.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "compile/graph.h"
#include "dispatch/record.h"
#include "tensor/layout.h"

namespace pel::test {

using compiler::Graph, compiler::GraphArg, compiler::GraphNode, compiler::GraphValue, compiler::NodeKind,
    compiler::SymbolSource, compiler::ValueId;

inline constexpr std::int64_t kHint = 7;  // of each symbol

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : text_(text), rest_(text) {
    graph_.sizes = std::make_shared<SymbolicSizes>();
  }

  Graph run() {
    const DimContextScope scope(*graph_.sizes);
    expect("graph");
    expect("(");
    for (bool is_first = true; !take(")"); is_first = false) {
      if (!is_first) expect(",");
      const ValueId id = value_id();
      expect(":");
      type(id, GraphValue::Origin::Input, new_storage());
      graph_.inputs.push_back(id);
    }
    expect("{");
    while (!take("return")) line(graph_.nodes);
    for (bool is_first = true; !take("}"); is_first = false) {
      if (!is_first) expect(",");
      graph_.outputs.push_back(value_id());
    }
    skip();
    check(rest_.empty(), "the end");
    verify(graph_);
    return std::move(graph_);
  }

 private:
  void line(std::vector<GraphNode>& nodes) {
    if (take("guard ")) return guard();
    GraphNode node;
    std::vector<ValueId> produced;
    if (peek() == '%' || peek() == '(' || starts_with("none")) {
      do node.results.push_back(result(produced));
      while (take(","));
      expect("=");
    }
    if (take("constant :")) {
      check(produced.size() == 1, "one constant");
      type(produced[0], GraphValue::Origin::Constant, new_storage());
      graph_.constants.emplace_back();
      graph_.constant_values.push_back(produced[0]);
      return;
    }
    const std::string name = word();
    for (const NodeKind kind : {NodeKind::FusedElementwise, NodeKind::FusedRows}) {
      if (!name.starts_with(fused_prefix(kind))) continue;
      node.kind = kind;
      node.name = name;
      return fused(std::move(node), produced, nodes);
    }
    node.op = find_op(name);
    check(node.op != nullptr, "an op, not " + name);
    const Schema& schema = node.op->record().schema;
    expect("(");
    for (std::size_t i = 0; i < schema.args.size(); ++i) {
      if (i != 0) expect(",");
      node.args.push_back(argument(schema.args[i].type));
    }
    expect(")");
    if (!produced.empty()) {
      expect(":");
      std::size_t index = 0;
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        for_values(node.results[r], [&](ValueId id) {
          if (index++ != 0) expect(",");
          type(id, GraphValue::Origin::Node, storage_of(node, schema, r));
        });
      }
    }
    skip_comment();
    nodes.push_back(std::move(node));
  }

  void fused(GraphNode node, const std::vector<ValueId>& produced, std::vector<GraphNode>& nodes) {
    expect("(");
    while (!take(")")) {
      if (!node.args.empty()) expect(",");
      node.args.emplace_back(value_id());
    }
    expect(":");
    for (std::size_t i = 0; i < produced.size(); ++i) {
      if (i != 0) expect(",");
      type(produced[i], GraphValue::Origin::Node, new_storage());
    }
    expect("{");
    while (!take("}")) line(node.body);
    nodes.push_back(std::move(node));
  }

  // A result shares memory with the argument that has its mark.
  std::uint32_t storage_of(const GraphNode& node, const Schema& schema, std::size_t result) {
    const char mark = result < schema.results.size() ? schema.results[result].alias.set : '\0';
    for (std::size_t i = 0; mark != '\0' && i < schema.args.size(); ++i) {
      if (schema.args[i].alias.set != mark) continue;
      if (const ValueId* id = std::get_if<ValueId>(&node.args[i])) return graph_[*id].storage;
    }
    return new_storage();
  }
  std::uint32_t new_storage() { return storages_++; }

  void guard() {
    const Dim left = sum();
    struct Sign {
      std::string_view text;
      detail::DimRelation relation;
    };
    constexpr Sign kSigns[] = {{"==", detail::DimRelation::Eq},
                               {"!=", detail::DimRelation::Ne},
                               {"<=", detail::DimRelation::Le},
                               {"<", detail::DimRelation::Lt}};
    const auto* sign = std::ranges::find_if(kSigns, [&](const Sign& s) { return take(s.text); });
    check(sign != std::end(kSigns), "a comparison");
    graph_.sizes->add_guard({.relation = sign->relation, .left = left, .right = sum(), .site = {}});
    skip_comment();
  }

  GraphArg result(std::vector<ValueId>& produced) {
    if (take("none")) return {};
    if (!take("(")) {
      produced.push_back(value_id());
      return produced.back();
    }
    std::vector<ValueId> list;
    for (bool is_first = true; !take(")"); is_first = false) {
      if (!is_first) expect(",");
      list.push_back(value_id());
      produced.push_back(list.back());
    }
    return list;
  }

  GraphArg argument(const ArgType& wanted) {
    using Base = ArgType::Base;
    if (take("none")) return {};
    if (wanted.is_list && wanted.base == Base::Tensor) {
      std::vector<ValueId> unused;
      return result(unused);
    }
    if (wanted.is_list) return dims();
    switch (wanted.base) {
      case Base::Tensor:
        return peek() == '%' ? GraphArg(value_id()) : GraphArg(scalar());
      case Base::Int:
      case Base::Dim:
        return sum();
      case Base::Float:
        return scalar().to_double();
      case Base::Bool:
        return truth();
      case Base::Scalar:
        return scalar();
      case Base::DType:
        return dtype();
      case Base::Device: {
        const std::string device = word();
        check(device == "cpu" || device == "meta", "cpu or meta");
        return device == "cpu" ? kCpu : Device{DeviceType::Meta};
      }
      case Base::String:
        return quoted();
      case Base::None:
        break;
    }
    throw InternalError("a schema has an argument of no type");
  }

  Scalar scalar() {
    if (starts_with("true") || starts_with("false")) return truth();
    const std::size_t end = std::min(rest_.find_first_of(",)\n "), rest_.size());
    const std::string_view number = rest_.substr(0, end);
    if (number.find_first_of(".ein") == std::string_view::npos) return sum();
    double value = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    check(parsed.ec == std::errc(), "a number");
    rest_.remove_prefix(end);
    return value;
  }
  bool truth() {
    if (take("true")) return true;
    expect("false");
    return false;
  }
  std::string quoted() {
    expect("'");
    const std::size_t end = rest_.find('\'');
    check(end != std::string_view::npos, "a quote");
    std::string inside(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return inside;
  }
  DType dtype() {
    const std::string wanted = word();
    for (int i = 0; i < kDTypeCount; ++i)
      if (name(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
    check(false, "a dtype");
    return {};
  }

  void type(ValueId id, GraphValue::Origin origin, std::uint32_t storage) {
    if (graph_.values.size() <= id.number) graph_.values.resize(id.number + 1);
    GraphValue value;
    value.origin = origin;
    value.dtype = dtype();
    value.storage = storage;
    const bool is_input = origin == GraphValue::Origin::Input;
    const auto input = static_cast<std::uint32_t>(graph_.inputs.size());
    value.sizes = dims(is_input ? SymbolSource::What::Size : std::optional<SymbolSource::What>(), input);
    value.is_row_major = !take("strides");
    if (value.is_row_major) {
      value.strides.resize(value.sizes.size());
      fill_row_major_strides(value.strides.data(), value.sizes);
    } else {
      value.strides =
          dims(is_input ? SymbolSource::What::Stride : std::optional<SymbolSource::What>(), input);
    }
    if (!known_.contains(id.number)) graph_.values[id.number] = std::move(value);
    known_.insert(id.number);
  }

  // In the type of an input, a symbol that occurs for the first time is read from that axis.
  std::vector<Dim> dims(std::optional<SymbolSource::What> source = std::nullopt, std::uint32_t input = 0) {
    std::vector<Dim> list;
    expect("[");
    while (!take("]")) {
      if (!list.empty()) expect(",");
      const std::size_t before = graph_.symbols.size();
      list.push_back(sum());
      if (graph_.symbols.size() == before) continue;
      check(source.has_value(), "a symbol that an input has");
      graph_.symbols.back() = {*source, input, static_cast<std::uint32_t>(list.size() - 1)};
    }
    return list;
  }
  Dim sum() {
    Dim total = product();
    while (take("+")) total += product();
    return total;
  }
  Dim product() {
    Dim total = atom();
    while (take("*")) total *= atom();
    return total;
  }
  Dim atom() {
    if (take("(")) {
      Dim inside = sum();
      if (take("//")) inside = inside / sum();
      if (take("%")) inside = inside % sum();
      expect(")");
      return inside;
    }
    const bool is_symbol = take("s");
    std::int64_t number = 0;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    check(parsed.ec == std::errc(), "a size");
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    if (!is_symbol) return number;
    const auto index = static_cast<std::size_t>(number);
    check(number >= 0 && index <= symbols_.size(), "symbols in their order");
    if (index == symbols_.size()) {
      symbols_.push_back(graph_.sizes->symbol(kHint));
      graph_.symbols.emplace_back();
    }
    return symbols_[index];
  }

  ValueId value_id() {
    expect("%");
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    check(parsed.ec == std::errc() && number < 1'000'000, "the number of a value");
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    return {number};
  }
  std::string word() {
    skip();
    const std::size_t end = std::min(rest_.find_first_of(" (),:[]\n"), rest_.size());
    check(end != 0, "a name");
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return found;
  }

  void skip() {
    const std::size_t begin = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(std::min(begin, rest_.size()));
  }
  void skip_comment() {
    if (starts_with("#")) rest_.remove_prefix(std::min(rest_.size(), rest_.find('\n')));
  }
  char peek() {
    skip();
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool starts_with(std::string_view wanted) {
    skip();
    return rest_.starts_with(wanted);
  }
  bool take(std::string_view wanted) {
    if (!starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  void expect(std::string_view wanted) { check(take(wanted), fmt::format("'{}'", wanted)); }
  void check(bool holds, const std::string& wanted) const {
    const auto line =
        1 + std::count(text_.begin(), text_.end() - static_cast<std::ptrdiff_t>(rest_.size()), '\n');
    PEL_CHECK(holds, ValueError, "the text of a graph, line {}: {} is expected before '{}'", line, wanted,
              rest_.substr(0, std::min<std::size_t>(rest_.find('\n'), 40)));
  }

  std::string_view text_, rest_;
  Graph graph_;
  std::vector<Dim> symbols_;
  std::set<std::uint32_t> known_;
  std::uint32_t storages_ = 0;
};

// Symbols have the hint 7, and constants no tensors. Throws ValueError with the line.
inline Graph parse_graph(std::string_view text) { return GraphParser(text).run(); }

}  // namespace pel::test

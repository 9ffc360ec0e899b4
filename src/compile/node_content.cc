#include "compile/node_content.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace pel::compiler {
namespace {

class NodeContent {
 public:
  explicit NodeContent(const Graph& graph) : graph_(graph) { words_.reserve(64); }
  void add(const GraphNode& node) {
    words_.push_back(static_cast<std::uint64_t>(node.kind) << 32 | node.body.size());
    for (const GraphNode& inner : node.body) add(inner);
    add(node.op);
    for (const GraphArg& arg : node.args) {
      words_.push_back(arg.index());
      std::visit(*this, arg);
    }
    // An op that writes has one of its arguments as a result, or a version of it.
    for (const GraphArg& result : node.results) {
      words_.push_back(result.index());
      for_values(result, [&](ValueId id) { words_.push_back(number_of(id)); });
    }
  }
  ContentWords take() { return std::move(words_); }

  void operator()(std::monostate) {}
  void operator()(ValueId id) {
    const std::size_t known = values_.size(), number = number_of(id);
    words_.push_back(number);
    if (number != known) return;
    const GraphValue& value = graph_[id];
    words_.push_back(static_cast<std::uint64_t>(value.dtype) << 32 |
                     static_cast<std::uint64_t>(value.device.type) << 16 |
                     static_cast<std::uint64_t>(value.device.index));
    add(value.sizes);
    add(value.strides);
  }
  void operator()(const std::vector<ValueId>& ids) {
    words_.push_back(ids.size());
    for (const ValueId id : ids) (*this)(id);
  }
  void operator()(Dim dim) { words_.push_back(std::bit_cast<std::uint64_t>(dim)); }
  void operator()(double number) { words_.push_back(std::bit_cast<std::uint64_t>(number)); }
  void operator()(bool fact) { words_.push_back(fact); }
  void operator()(const Scalar& number) {
    words_.push_back(static_cast<std::uint64_t>(number.kind()) << 1 | (number.is_symbolic() ? 1 : 0));
    if (number.is_symbolic()) {
      (*this)(number.dim());
    } else if (number.is_float()) {
      (*this)(number.to_double());
    } else {
      words_.push_back(static_cast<std::uint64_t>(number.to_int()));
    }
  }
  void operator()(DType dtype) { words_.push_back(static_cast<std::uint64_t>(dtype)); }
  void operator()(Device device) {
    words_.push_back(static_cast<std::uint64_t>(device.type));
    words_.push_back(static_cast<std::uint64_t>(device.index));
  }
  void operator()(const std::vector<Dim>& dims) { add(dims); }
  void operator()(const std::string& word) {
    words_.push_back(word.size());
    for (const char c : word) words_.push_back(static_cast<unsigned char>(c));
  }

 private:
  void add(const Op* op) { words_.push_back(reinterpret_cast<std::uintptr_t>(op)); }
  void add(const std::vector<Dim>& dims) {
    words_.push_back(dims.size());
    for (const Dim dim : dims) (*this)(dim);
  }
  std::size_t number_of(ValueId id) {
    const auto found = std::ranges::find(values_, id);
    if (found == values_.end()) {
      values_.push_back(id);
      return values_.size() - 1;
    }
    return static_cast<std::size_t>(found - values_.begin());
  }

  const Graph& graph_;
  ContentWords words_;
  std::vector<ValueId> values_;
};

}  // namespace

std::size_t ContentHash::operator()(const ContentWords& words) const {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = (std::rotl(hash, 5) ^ word) * 0x9e3779b97f4a7c15;
  return hash;
}

ContentWords node_content(const Graph& graph, const GraphNode& node) {
  NodeContent content(graph);
  content.add(node);
  return content.take();
}

std::vector<std::uint32_t> alike_nodes(const Graph& graph) {
  std::unordered_map<ContentWords, std::uint32_t, ContentHash> first;
  std::vector<std::uint32_t> alike;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    alike.push_back(first.emplace(node_content(graph, graph.nodes[n]), n).first->second);
  return alike;
}

}  // namespace pel::compiler

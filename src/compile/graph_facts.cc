#include "compile/graph_facts.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "compile/effects.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

GraphUses::GraphUses(const Graph& graph)
    : producer(graph.values.size()), consumers(graph.values.size()), is_output(graph.values.size()) {
  for (std::uint32_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (storages.size() <= value.storage) storages.resize(value.storage + 1);
    Storage& storage = storages[value.storage];
    ++storage.values;
    storage.last = {v};
    storage.is_callers = storage.is_callers || value.origin != GraphValue::Origin::Node;
  }
  for (const ValueId id : graph.outputs) {
    is_output[id.number] = true;
    storages[graph[id].storage].is_returned = true;
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        if (!producer[id.number]) producer[id.number] = n;
      });
    }
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        std::vector<std::size_t>& list = consumers[id.number];
        if (list.empty() || list.back() != n) list.push_back(n);
      });
    }
    for (const ValueId id : written_values(node)) storages[graph[id].storage].is_written = true;
  }
}

namespace {

using Words = std::vector<std::uint64_t>;

// All that the launches of a call depend on. Values are numbered in the order in which they occur in the
// call.
class CallContent {
 public:
  CallContent(const Graph& graph, const GraphNode& node) : graph_(graph) {
    words_.reserve(64);
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
  Words take() { return std::move(words_); }

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
  Words words_;
  std::vector<ValueId> values_;
};

// The values of a call in the order in which they occur in it, arguments first.
std::vector<ValueId> values_of(const GraphNode& node) {
  std::vector<ValueId> values;
  const auto add = [&](ValueId id) { values.push_back(id); };
  for (const GraphArg& arg : node.args) for_values(arg, add);
  for (const GraphArg& result : node.results) for_values(result, add);
  return values;
}

// f(id) for each value that a call names, to replace it.
template <class F>
void replace_values(ElementwiseCall& call, F&& f) {
  for (ElementwiseInput& input : call.inputs)
    if (input.value) f(*input.value);
  f(call.output);
}
template <class F>
void replace_values(RowCall& call, F&& f) {
  for (ValueId& id : call.inputs) f(id);
  for (std::optional<ValueId>& id : call.outputs)
    if (id) f(*id);
}

void to_positions(FusedCall& call, const GraphNode& node) {
  const std::vector<ValueId> values = values_of(node);
  const auto replace = [&](ValueId& id) {
    id = {static_cast<std::uint32_t>(std::ranges::find(values, id) - values.begin())};
  };
  std::visit([&](auto& kind) { replace_values(kind, replace); }, call);
}
void to_values(FusedCall& call, const GraphNode& node) {
  const std::vector<ValueId> values = values_of(node);
  const auto replace = [&](ValueId& id) { id = values[id.number]; };
  std::visit([&](auto& kind) { replace_values(kind, replace); }, call);
}

}  // namespace

bool compiles_loops(Device device) { return loop_compiler(device.type) != nullptr; }
bool compiles_loops(const Graph& graph) {
  return std::ranges::any_of(graph.values,
                             [](const GraphValue& value) { return compiles_loops(value.device); });
}

std::size_t GraphFacts::Hash::operator()(const std::vector<std::uint64_t>& words) const {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = (std::rotl(hash, 5) ^ word) * 0x9e3779b97f4a7c15;
  return hash;
}

const CallFacts& GraphFacts::of(const Graph& graph, const GraphNode& node) {
  PEL_ASSERT(!node.is_fused(), "the calls of a fused node have facts, it has none");
  std::vector<std::uint64_t> content = CallContent(graph, node).take();
  if (const auto found = facts_.find(content); found != facts_.end()) return found->second;
  CallFacts facts;
  FakeRun run(graph, graph.sizes->hints());
  const std::vector<RecordedLaunch> launches = run.call(node);
  facts.launches_nothing = launches.empty();
  facts.counts_flops = std::ranges::any_of(launches, [](const RecordedLaunch& launch) {
    return launch.kernel != nullptr && launch.kernel->flops != nullptr;
  });
  facts.parts = call_parts(launches);
  facts.call = fused_call_of(node, launches, run);
  if (facts.call) to_positions(*facts.call, node);
  return facts_.emplace(std::move(content), std::move(facts)).first->second;
}

std::optional<FusedCall> GraphFacts::fused_call(const Graph& graph, const GraphNode& node) {
  if (node.is_fused()) return std::nullopt;
  std::optional<FusedCall> call = of(graph, node).call;
  if (call) to_values(*call, node);
  return call;
}

std::optional<ElementwiseCall> GraphFacts::elementwise_call(const Graph& graph, const GraphNode& node) {
  std::optional<FusedCall> call = fused_call(graph, node);
  if (!call || !std::holds_alternative<ElementwiseCall>(*call)) return std::nullopt;
  return std::get<ElementwiseCall>(*std::move(call));
}

}  // namespace pel::compiler

// Recompute, in this order:
//   add_free_copies             copies that fused loops absorb
//   add_copies_in_later_loops   copies for values at the peak; kept only if the peak of the fused graph falls
//   fit                         copies until the fused graph stays below the budget
// Each calls plan_for, which finds the calls to repeat for a value and the consumers that get the copy, and
// apply, which rewrites the graph.
#include "compile/passes/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/readable.h"
#include "compile/effects.h"
#include "compile/live_bytes.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/order_for_memory.h"
#include "dispatch/pointwise.h"

namespace pel::compiler {
namespace {

// Operations an element that are computed again at most. To write and read a float32 takes about as long as
// this many if memory is the limit: 8 bytes at 6 GB/s and core, against 16 lanes.
constexpr std::size_t kMaxWork = 96;
constexpr std::size_t kMaxCopied = 8;  // calls
constexpr std::int64_t kMinPart = 50;  // operations that are not free must save this part of the peak

class Recompute {
 public:
  Recompute(Graph graph, PassContext& context) : graph_(std::move(graph)), context_(context) {
    find_calls();
    find_uses();
  }

  void add_free_copies() {
    for (std::uint32_t id = 0, count = static_cast<std::uint32_t>(graph_.values.size()); id < count; ++id) {
      if (const auto plan = plan_for({id}, Cost::Free)) apply(*plan);
    }
  }
  // Values that are in use at the peak and that a loop which runs later anyway can compute with its own
  // results.
  void add_copies_in_later_loops() {
    if (graph_.nodes.empty()) return;
    const std::vector<std::int64_t> live = bytes_->at(given_order(graph_));
    const auto top = static_cast<std::size_t>(std::ranges::max_element(live) - live.begin());
    std::vector<bool> is_across(bytes_->storages());
    for (std::size_t n = 0; n <= top; ++n)
      for (const std::uint32_t storage : bytes_->touched_by(n))
        is_across[storage] = last_touch_[storage] >= top;
    std::optional<Saved> before;
    for (std::uint32_t id = 0, count = static_cast<std::uint32_t>(graph_.values.size()); id < count; ++id) {
      if (!is_across[graph_.values[id].storage]) continue;
      const auto plan = plan_for({id}, Cost::LaterLoop);
      if (!plan) continue;
      if (!before) before = saved();
      apply(*plan);
    }
    if (!before || graph_.nodes.size() == before->graph.nodes.size()) return;
    const std::int64_t was = peak_when_fused(before->graph), now = peak_when_fused(graph_);
    if (was - now < std::max<std::int64_t>(1, was / kMinPart)) restore(*before);
  }
  // The candidate that saves the most bytes for its operations, until the peak is below the budget.
  void fit(std::int64_t budget) {
    std::set<std::uint32_t> tried;
    for (std::int64_t peak = peak_when_fused(graph_); peak > budget;) {
      std::optional<Copies> best;
      for (std::uint32_t id = 0; id < graph_.values.size(); ++id) {
        if (tried.contains(id)) continue;
        const auto plan = plan_for({id}, Cost::Kernels);
        if (plan && (!best || plan->worth() > best->worth())) best = plan;
      }
      if (!best) {
        context_.why.decisions.push_back(
            {"recompute",
             "the budget",
             fmt::format("{} are in use at once and not {}: no other value is cheap "
                         "to recompute",
                         readable_bytes(peak), readable_bytes(budget)),
             {}});
        return;
      }
      tried.insert(best->value.number);
      const Saved before = saved();
      apply(*best);
      for (auto id = static_cast<std::uint32_t>(before.graph.values.size()); id < graph_.values.size(); ++id)
        tried.insert(id);  // a copy is not copied again
      const std::int64_t after = peak_when_fused(graph_);
      if (after > peak) restore(before);
      peak = std::min(peak, after);
    }
  }
  Graph take() { return std::move(graph_); }

 private:
  enum class Cost : std::uint8_t { Free, LaterLoop, Kernels };
  struct Node {
    bool is_view = false, counts_flops = false;
    std::optional<ElementwiseCall> call;  // if it is elementwise
    std::size_t work = 0;
  };
  // A value's copies: the calls to repeat, in order, and for each copy the consumers that get it.
  struct Copies {
    ValueId value;
    std::vector<std::size_t> calls;
    std::vector<std::vector<std::size_t>> consumers;
    std::int64_t bytes = 0;
    std::size_t work = 0;
    double worth() const { return static_cast<double>(bytes) / static_cast<double>(work + 8); }
  };

  struct Saved {
    Graph graph;
    std::vector<Node> nodes;
    std::size_t decisions;
  };
  Saved saved() const { return {graph_, nodes_, context_.why.decisions.size()}; }
  void restore(const Saved& before) {
    graph_ = before.graph;
    nodes_ = before.nodes;
    context_.why.decisions.resize(before.decisions);
    find_uses();
  }

  void find_calls() {
    const GraphUses uses(graph_);
    for (const GraphNode& node : graph_.nodes) {
      Node& found = nodes_.emplace_back();
      const CallFacts& facts = context_.facts.of(graph_, node);
      bool is_touched = writes(node) || draws_random(node) || communicates(node);
      const auto touch = [&](ValueId id) {
        is_touched = is_touched || uses.storages[graph_[id].storage].is_written;
      };
      for (const GraphArg& arg : node.args) for_values(arg, touch);
      for (const GraphArg& result : node.results) for_values(result, touch);
      found.counts_flops = facts.counts_flops;
      if (!is_touched && node.results.size() == 1) {
        found.call = context_.facts.elementwise_call(graph_, node);
        found.is_view = facts.launches_nothing && views_argument(node);
      }
      if (found.call) found.work = operations_of(*found.call);
    }
  }
  void find_uses() {
    uses_.emplace(graph_);
    bytes_.emplace(graph_);
    last_touch_.assign(bytes_->storages(), 0);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const std::uint32_t storage : bytes_->touched_by(n)) last_touch_[storage] = n;
  }
  bool views_argument(const GraphNode& node) const {
    const ValueId* viewed = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args[0]);
    const ValueId* result = std::get_if<ValueId>(&node.results[0]);
    return viewed != nullptr && result != nullptr && graph_[*viewed].storage == graph_[*result].storage;
  }

  // Nodes that depend on `from` through a node that cannot be fused: no fused loop spans both.
  std::vector<bool> far_from(std::size_t from, Cost cost) const {
    std::vector<bool> is_reached(graph_.nodes.size()), is_far(graph_.nodes.size());
    is_reached[from] = true;
    for (std::size_t n = from; n < graph_.nodes.size(); ++n) {
      if (!is_reached[n]) continue;
      const bool ends =
          n != from && (cost == Cost::Free ? nodes_[n].counts_flops : !nodes_[n].call && !nodes_[n].is_view);
      for (const GraphArg& result : graph_.nodes[n].results) {
        for_values(result, [&](ValueId id) {
          for (const std::size_t consumer : consumers(id)) {
            if (consumer <= n) continue;
            is_reached[consumer] = true;
            is_far[consumer] = is_far[consumer] || is_far[n] || ends;
          }
        });
      }
    }
    return is_far;
  }

  bool is_alive(ValueId id, std::size_t until) const {
    const GraphValue& value = graph_[id];
    if (value.origin != GraphValue::Origin::Node) return true;
    return bytes_->is_returned(value.storage) || last_touch_[value.storage] >= until;
  }

  // How a value that is consumed far from its producer could be computed again there.
  std::optional<Copies> plan_for(ValueId id, Cost cost) const {
    std::optional<std::size_t> from = producer(id);
    if (!from || consumers(id).empty() || bytes_->is_returned(graph_[id].storage)) return std::nullopt;
    if (cost == Cost::Free && consumers(id).size() < 2) return std::nullopt;  // it could only be moved
    while (cost != Cost::Free && from && nodes_[*from].is_view)
      from = producer(std::get<ValueId>(graph_.nodes[*from].args[0]));
    if (!from || !nodes_[*from].call) return std::nullopt;
    const std::vector<bool> is_far = far_from(*from, cost);
    std::vector<std::size_t> late;
    for (const std::size_t consumer : consumers(id)) {
      if (is_far[consumer]) late.push_back(consumer);
      // Without a budget the value must not be written to memory at all.
      if (cost == Cost::Free && !nodes_[consumer].call) return std::nullopt;
    }
    if (late.empty()) return std::nullopt;
    Copies copies{id, {}, {}, 0, 0};
    std::int64_t leaf_bytes = 0;
    if (!collect(id, late, copies, leaf_bytes)) return std::nullopt;
    std::ranges::sort(copies.calls);
    if (cost == Cost::LaterLoop && !fits_later_loop(copies, late)) return std::nullopt;
    const std::uint32_t storage = graph_[id].storage;
    copies.bytes = bytes_->bytes_of(storage);
    // Written and read once, against what the copies read instead.
    if (copies.bytes == 0 || copies.work > kMaxWork || (cost == Cost::Free && leaf_bytes > 2 * copies.bytes))
      return std::nullopt;
    for (const std::size_t consumer : late) {
      const bool joins = !copies.consumers.empty() && !far_from(copies.consumers.back()[0], cost)[consumer];
      if (joins && cost == Cost::Free) {
        copies.consumers.back().push_back(consumer);
      } else if (joins && consumer - copies.consumers.back().back() <= kMaxCopied) {
        copies.consumers.back().push_back(consumer);
      } else {
        copies.consumers.push_back({consumer});
      }
    }
    copies.work *= copies.consumers.size();
    return copies;
  }

  // Adds the calls that compute `id` from values that are in memory at its last consumer. False: they are
  // not.
  bool collect(ValueId id, const std::vector<std::size_t>& late, Copies& copies,
               std::int64_t& leaf_bytes) const {
    const std::size_t from = *producer(id);
    if (std::ranges::find(copies.calls, from) != copies.calls.end()) return true;
    copies.calls.push_back(from);
    copies.work += nodes_[from].work;
    if (copies.calls.size() > kMaxCopied) return false;
    bool is_possible = true;
    for (const GraphArg& arg : graph_.nodes[from].args) {
      for_values(arg, [&](ValueId read) {
        if (!is_possible) return;
        const bool is_other = graph_[read].storage != graph_[copies.value].storage;
        if (is_other && is_alive(read, late.back())) {
          if (!is_consumed_by(read, late)) leaf_bytes += value_bytes(read);
          return;
        }
        const auto producing = producer(read);
        is_possible = producing && (nodes_[*producing].call || nodes_[*producing].is_view) &&
                      collect(read, late, copies, leaf_bytes);
      });
    }
    return is_possible;
  }
  // Whether a late loop over as many elements reads what the copies are computed from.
  bool fits_later_loop(const Copies& copies, const std::vector<std::size_t>& late) const {
    bool found = false;
    for (const std::size_t call : copies.calls) {
      for (const GraphArg& arg : graph_.nodes[call].args) {
        for_values(arg, [&](ValueId leaf) {
          const auto producing = producer(leaf);
          if (producing && std::ranges::find(copies.calls, *producing) != copies.calls.end()) return;
          found = found || std::ranges::any_of(consumers(leaf), [&](std::size_t consumer) {
                    return consumer >= late.front() && nodes_[consumer].call &&
                           value_bytes(nodes_[consumer].call->output) == value_bytes(copies.value);
                  });
        });
      }
    }
    return found;
  }
  bool is_consumed_by(ValueId id, const std::vector<std::size_t>& nodes) const {
    return std::ranges::any_of(
        nodes, [&](std::size_t n) { return std::ranges::find(consumers(id), n) != consumers(id).end(); });
  }
  std::int64_t value_bytes(ValueId id) const {
    std::int64_t elements = 1;
    for (const Dim size : graph_[id].sizes) elements *= graph_.sizes->evaluate(size, graph_.sizes->hints());
    return elements * size_bytes(graph_[id].dtype);
  }

  void apply(const Copies& copies) {
    std::map<std::size_t, std::vector<GraphNode>> before;  // copies of the calls, to put before a node
    auto storages = static_cast<std::uint32_t>(uses_->storages.size());
    for (const std::vector<std::size_t>& consumers : copies.consumers) {
      std::map<std::uint32_t, ValueId> again;
      const auto use_copies = [&](GraphArg& arg) {
        const auto rename = [&](ValueId& id) {
          if (const auto found = again.find(id.number); found != again.end()) id = found->second;
        };
        if (ValueId* id = std::get_if<ValueId>(&arg)) rename(*id);
        if (auto* ids = std::get_if<std::vector<ValueId>>(&arg)) std::ranges::for_each(*ids, rename);
      };
      for (const std::size_t call : copies.calls) {
        GraphNode copy = graph_.nodes[call];
        for (GraphArg& arg : copy.args) use_copies(arg);
        const ValueId was = std::get<ValueId>(copy.results[0]);
        GraphValue value = graph_[was];
        if (nodes_[call].is_view) {
          value.storage = graph_[std::get<ValueId>(copy.args[0])].storage;
        } else {
          value.storage = storages++;
        }
        const ValueId now{static_cast<std::uint32_t>(graph_.values.size())};
        graph_.values.push_back(std::move(value));
        copy.results[0] = now;
        again.emplace(was.number, now);
        before[consumers.front()].push_back(std::move(copy));
      }
      for (const std::size_t consumer : consumers)
        for (GraphArg& arg : graph_.nodes[consumer].args) use_copies(arg);
    }
    const GraphNode& producing = graph_.nodes[*producer(copies.value)];
    context_.why.decisions.push_back(
        {"recompute", fmt::format("%{} = {}", copies.value.number, producing.label()),
         fmt::format("recomputed for {} {}, by {} {}: {} are not held in memory", copies.consumers.size(),
                     copies.consumers.size() == 1 ? "late consumer" : "late consumers", copies.calls.size(),
                     copies.calls.size() == 1 ? "call" : "calls", readable_bytes(copies.bytes)),
         producing.site});
    std::vector<GraphNode> nodes;
    std::vector<Node> facts;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (const auto found = before.find(n); found != before.end()) {
        std::ranges::move(found->second, std::back_inserter(nodes));
        for (const std::size_t call : copies.calls) facts.push_back(nodes_[call]);
      }
      nodes.push_back(std::move(graph_.nodes[n]));
      facts.push_back(nodes_[n]);
    }
    graph_.nodes = std::move(nodes);
    nodes_ = std::move(facts);
    find_uses();
    drop_unused_views();
  }
  // Of values that have copies now: they would seem to be in use.
  void drop_unused_views() {
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const ValueId* view = nodes_[n].is_view ? std::get_if<ValueId>(&graph_.nodes[n].results[0]) : nullptr;
      if (view == nullptr || !consumers(*view).empty() || uses_->is_output[view->number]) continue;
      graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(n));
      find_uses();
    }
  }
  std::int64_t peak_when_fused(const Graph& graph) const {
    Explanation unused;
    PassContext context{context_.facts, unused, context_.options};
    const Graph fused = order_for_memory(fuse_pointwise(graph, context), context);
    return LiveBytes(fused).peak(given_order(fused));
  }
  std::optional<std::size_t> producer(ValueId id) const { return uses_->producer[id.number]; }
  const std::vector<std::size_t>& consumers(ValueId id) const { return uses_->consumers[id.number]; }

  Graph graph_;
  PassContext& context_;
  std::vector<Node> nodes_;
  std::optional<GraphUses> uses_;
  std::optional<LiveBytes> bytes_;
  std::vector<std::size_t> last_touch_;  // of storages
};

}  // namespace

Graph recompute(Graph graph, PassContext& context) {
  const bool fuses = compiles_loops(graph);
  Recompute pass(std::move(graph), context);
  if (fuses) {
    pass.add_free_copies();
    pass.add_copies_in_later_loops();
  }
  if (const std::int64_t budget_bytes = context.options.memory_budget_bytes; budget_bytes != 0)
    pass.fit(budget_bytes);
  return pass.take();
}

}  // namespace pel::compiler

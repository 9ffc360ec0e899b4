#include "compile/passes/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/readable.h"
#include "compile/effects.h"
#include "compile/live_bytes.h"
#include "compile/loops.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/order_for_memory.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/pointwise.h"

namespace pel::compiler {
namespace {

// Operations an element that are made again at most. To write and read a float32 takes as long as about
// this many where memory is the limit: 8 bytes at 6 GB/s and core, against 16 lanes.
constexpr std::size_t kMostWork = 96;
constexpr std::size_t kMostCopied = 8;   // calls
constexpr std::int64_t kLeastPart = 50;  // of the peak, that work which is not free must save

class Recompute {
 public:
  Recompute(Graph graph, Explanation& why) : graph_(std::move(graph)), why_(why) {
    find_loops();
    find_uses();
  }

  void what_is_free() {
    for (std::uint32_t id = 0, count = static_cast<std::uint32_t>(graph_.values.size()); id < count; ++id) {
      if (const auto plan = plan_for({id}, Cost::Free)) apply(*plan);
    }
  }
  // What is in use at the peak, and what a loop that runs later anyway can make beside its own results.
  void beside_others() {
    if (graph_.nodes.empty()) return;
    const std::vector<std::int64_t> live = bytes_->at(given_order(graph_));
    const auto top = static_cast<std::size_t>(std::ranges::max_element(live) - live.begin());
    std::vector<bool> is_across(bytes_->storages());
    for (std::size_t n = 0; n <= top; ++n)
      for (const std::uint32_t storage : bytes_->touched_by(n))
        is_across[storage] = last_touch_[storage] >= top;
    const Saved before = saved();
    for (std::uint32_t id = 0; id < before.graph.values.size(); ++id) {
      if (!is_across[graph_.values[id].storage]) continue;
      if (const auto plan = plan_for({id}, Cost::Beside)) apply(*plan);
    }
    if (graph_.nodes.size() == before.graph.nodes.size()) return;
    const std::int64_t was = peak_when_fused(before.graph), now = peak_when_fused(graph_);
    if (was - now < std::max<std::int64_t>(1, was / kLeastPart)) restore(before);
  }
  // The candidate that saves the most bytes for its work, until the peak is below the budget.
  void to_fit(std::int64_t budget) {
    std::set<std::uint32_t> tried;
    for (std::int64_t peak = peak_when_fused(graph_); peak > budget;) {
      std::optional<Copies> best;
      for (std::uint32_t id = 0; id < graph_.values.size(); ++id) {
        if (tried.contains(id)) continue;
        const auto plan = plan_for({id}, Cost::Kernels);
        if (plan && (!best || plan->worth() > best->worth())) best = plan;
      }
      if (!best) {
        why_.decisions.push_back({"recompute",
                                  "the budget",
                                  fmt::format("{} are in use at once and not {}: nothing else is cheap "
                                              "to make again",
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
  enum class Cost : std::uint8_t { Free, Beside, Kernels };
  struct Node {
    bool is_view = false, is_product = false;
    std::optional<LoopCall> loop;
    std::size_t work = 0;
  };
  // A value's copies: the calls to make again, in order, and for each copy the readers that get it.
  struct Copies {
    ValueId value;
    std::vector<std::size_t> calls;
    std::vector<std::vector<std::size_t>> readers;
    std::int64_t bytes = 0;
    std::size_t work = 0;
    double worth() const { return static_cast<double>(bytes) / static_cast<double>(work + 8); }
  };

  struct Saved {
    Graph graph;
    std::vector<Node> nodes;
    std::size_t decisions;
  };
  Saved saved() const { return {graph_, nodes_, why_.decisions.size()}; }
  void restore(const Saved& before) {
    graph_ = before.graph;
    nodes_ = before.nodes;
    why_.decisions.resize(before.decisions);
    find_uses();
  }

  void find_loops() {
    const std::vector<bool> written = written_storages(graph_);
    FakeRun run(graph_, graph_.sizes->hints());
    for (const GraphNode& node : graph_.nodes) {
      Node& found = nodes_.emplace_back();
      const std::vector<RecordedLaunch> launches = run.call(node);
      bool is_touched = writes(node) || draws_random(node);
      const auto touch = [&](ValueId id) { is_touched = is_touched || written[graph_[id].storage]; };
      for (const GraphArg& arg : node.args) for_values(arg, touch);
      for (const GraphArg& result : node.results) for_values(result, touch);
      for (const RecordedLaunch& launch : launches)
        found.is_product = found.is_product || (launch.kernel != nullptr && launch.kernel->flops != nullptr);
      if (!is_touched && node.results.size() == 1) {
        found.loop = loop_of(node, launches, run);
        found.is_view = launches.empty() && shows_argument(node);
      }
      if (found.loop) {
        const LoopCall& loop = *found.loop;
        found.work =
            loop.facts == nullptr
                ? 1
                : make_expr(*loop.facts, loop.computation.formula, loop.computation.dtype).nodes.size();
      }
    }
  }
  void find_uses() {
    maker_.assign(graph_.values.size(), std::nullopt);
    readers_.assign(graph_.values.size(), {});
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      for (const GraphArg& result : node.results)
        for_values(result, [&](ValueId id) {
          if (!maker_[id.number]) maker_[id.number] = n;
        });
      for (const GraphArg& arg : node.args)
        for_values(arg, [&](ValueId id) {
          if (readers_[id.number].empty() || readers_[id.number].back() != n)
            readers_[id.number].push_back(n);
        });
    }
    bytes_.emplace(graph_);
    last_touch_.assign(bytes_->storages(), 0);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const std::uint32_t storage : bytes_->touched_by(n)) last_touch_[storage] = n;
  }
  bool shows_argument(const GraphNode& node) const {
    const ValueId* shown = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args[0]);
    const ValueId* result = std::get_if<ValueId>(&node.results[0]);
    return shown != nullptr && result != nullptr && graph_[*shown].storage == graph_[*result].storage;
  }

  // Nodes that need `from` and something between that ends a loop: there, a fused loop cannot reach.
  std::vector<bool> far_from(std::size_t from, Cost cost) const {
    std::vector<bool> is_reached(graph_.nodes.size()), is_far(graph_.nodes.size());
    is_reached[from] = true;
    for (std::size_t n = from; n < graph_.nodes.size(); ++n) {
      if (!is_reached[n]) continue;
      const bool ends =
          n != from && (cost == Cost::Free ? nodes_[n].is_product : !nodes_[n].loop && !nodes_[n].is_view);
      for (const GraphArg& result : graph_.nodes[n].results) {
        for_values(result, [&](ValueId id) {
          for (const std::size_t reader : readers_[id.number]) {
            if (reader <= n) continue;
            is_reached[reader] = true;
            is_far[reader] = is_far[reader] || is_far[n] || ends;
          }
        });
      }
    }
    return is_far;
  }

  bool is_alive(ValueId id, std::size_t until) const {
    const GraphValue& value = graph_[id];
    if (value.origin != GraphValue::Origin::Node) return true;
    return bytes_->is_given_back(value.storage) || last_touch_[value.storage] >= until;
  }

  // How a value that is read far from where it is made could be made again there.
  std::optional<Copies> plan_for(ValueId id, Cost cost) const {
    std::optional<std::size_t> maker = maker_[id.number];
    if (!maker || readers_[id.number].empty() || bytes_->is_given_back(graph_[id].storage))
      return std::nullopt;
    if (cost == Cost::Free && readers_[id.number].size() < 2) return std::nullopt;  // it could only be moved
    while (cost != Cost::Free && maker && nodes_[*maker].is_view)
      maker = maker_[std::get<ValueId>(graph_.nodes[*maker].args[0]).number];
    if (!maker || !nodes_[*maker].loop) return std::nullopt;
    const std::vector<bool> is_far = far_from(*maker, cost);
    std::vector<std::size_t> late;
    for (const std::size_t reader : readers_[id.number]) {
      if (is_far[reader]) late.push_back(reader);
      // Without a budget the value is to be nowhere in memory.
      if (cost == Cost::Free && !nodes_[reader].loop) return std::nullopt;
    }
    if (late.empty()) return std::nullopt;
    Copies copies{id, {}, {}, 0, 0};
    std::int64_t leaf_bytes = 0;
    if (!collect(id, late, copies, leaf_bytes)) return std::nullopt;
    std::ranges::sort(copies.calls);
    if (cost == Cost::Beside && !has_room_beside(copies, late)) return std::nullopt;
    const std::uint32_t storage = graph_[id].storage;
    copies.bytes = bytes_->bytes_of(storage);
    // Written and read once, against what is read in its place.
    if (copies.bytes == 0 || copies.work > kMostWork || (cost == Cost::Free && leaf_bytes > 2 * copies.bytes))
      return std::nullopt;
    for (const std::size_t reader : late) {
      const bool joins = !copies.readers.empty() && !far_from(copies.readers.back()[0], cost)[reader];
      if (joins && cost == Cost::Free) {
        copies.readers.back().push_back(reader);
      } else if (joins && reader - copies.readers.back().back() <= kMostCopied) {
        copies.readers.back().push_back(reader);
      } else {
        copies.readers.push_back({reader});
      }
    }
    copies.work *= copies.readers.size();
    return copies;
  }

  // Adds the calls that make `id` from what lies in memory when it is read last. False: that is not there.
  bool collect(ValueId id, const std::vector<std::size_t>& late, Copies& copies,
               std::int64_t& leaf_bytes) const {
    const std::size_t maker = *maker_[id.number];
    if (std::ranges::find(copies.calls, maker) != copies.calls.end()) return true;
    copies.calls.push_back(maker);
    copies.work += nodes_[maker].work;
    if (copies.calls.size() > kMostCopied) return false;
    bool is_possible = true;
    for (const GraphArg& arg : graph_.nodes[maker].args) {
      for_values(arg, [&](ValueId read) {
        if (!is_possible) return;
        const bool is_other = graph_[read].storage != graph_[copies.value].storage;
        if (is_other && is_alive(read, late.back())) {
          if (!is_read_by(read, late)) leaf_bytes += value_bytes(read);
          return;
        }
        const auto made_by = maker_[read.number];
        is_possible = made_by && (nodes_[*made_by].loop || nodes_[*made_by].is_view) &&
                      collect(read, late, copies, leaf_bytes);
      });
    }
    return is_possible;
  }
  // Whether a late loop over as many elements reads what the copies are made of.
  bool has_room_beside(const Copies& copies, const std::vector<std::size_t>& late) const {
    bool found = false;
    for (const std::size_t call : copies.calls) {
      for (const GraphArg& arg : graph_.nodes[call].args) {
        for_values(arg, [&](ValueId leaf) {
          const auto made_by = maker_[leaf.number];
          if (made_by && std::ranges::find(copies.calls, *made_by) != copies.calls.end()) return;
          found = found || std::ranges::any_of(readers_[leaf.number], [&](std::size_t reader) {
                    return reader >= late.front() && nodes_[reader].loop &&
                           value_bytes(nodes_[reader].loop->output) == value_bytes(copies.value);
                  });
        });
      }
    }
    return found;
  }
  bool is_read_by(ValueId id, const std::vector<std::size_t>& nodes) const {
    return std::ranges::any_of(nodes, [&](std::size_t n) {
      return std::ranges::find(readers_[id.number], n) != readers_[id.number].end();
    });
  }
  std::int64_t value_bytes(ValueId id) const {
    std::int64_t elements = 1;
    for (const Dim size : graph_[id].sizes) elements *= graph_.sizes->evaluate(size, graph_.sizes->hints());
    return elements * size_bytes(graph_[id].dtype);
  }

  void apply(const Copies& copies) {
    std::map<std::size_t, std::vector<GraphNode>> before;  // what to put before a node: copies of the calls
    for (const std::vector<std::size_t>& readers : copies.readers) {
      std::map<std::uint32_t, ValueId> again;
      std::map<std::uint32_t, std::uint32_t> storages;
      const auto read = [&](GraphArg& arg) {
        const auto rename = [&](ValueId& id) {
          if (const auto found = again.find(id.number); found != again.end()) id = found->second;
        };
        if (ValueId* id = std::get_if<ValueId>(&arg)) rename(*id);
        if (auto* ids = std::get_if<std::vector<ValueId>>(&arg)) std::ranges::for_each(*ids, rename);
      };
      for (const std::size_t call : copies.calls) {
        GraphNode copy = graph_.nodes[call];
        for (GraphArg& arg : copy.args) read(arg);
        const ValueId was = std::get<ValueId>(copy.results[0]);
        GraphValue made = graph_[was];
        if (nodes_[call].is_view) {
          made.storage = graph_[std::get<ValueId>(copy.args[0])].storage;
        } else {
          made.storage = next_storage();
        }
        const ValueId now{static_cast<std::uint32_t>(graph_.values.size())};
        graph_.values.push_back(std::move(made));
        copy.results[0] = now;
        again.emplace(was.number, now);
        before[readers.front()].push_back(std::move(copy));
      }
      for (const std::size_t reader : readers)
        for (GraphArg& arg : graph_.nodes[reader].args) read(arg);
    }
    const GraphNode& made_by = graph_.nodes[*maker_[copies.value.number]];
    why_.decisions.push_back(
        {"recompute", fmt::format("%{} = {}", copies.value.number, made_by.label()),
         fmt::format("made again for {} {}, by {} {}: {} are not held", copies.readers.size(),
                     copies.readers.size() == 1 ? "late reader" : "late readers", copies.calls.size(),
                     copies.calls.size() == 1 ? "call" : "calls", readable_bytes(copies.bytes)),
         made_by.site});
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
    drop_unread_views();
  }
  // Of values that have copies now: they would seem to be in use.
  void drop_unread_views() {
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const ValueId* shown = nodes_[n].is_view ? std::get_if<ValueId>(&graph_.nodes[n].results[0]) : nullptr;
      if (shown == nullptr || !readers_[shown->number].empty() ||
          std::ranges::find(graph_.outputs, *shown) != graph_.outputs.end())
        continue;
      graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(n));
      find_uses();
    }
  }
  std::uint32_t next_storage() const {
    std::uint32_t storages = 0;
    for (const GraphValue& value : graph_.values) storages = std::max(storages, value.storage + 1);
    return storages;
  }

  static std::int64_t peak_when_fused(const Graph& graph) {
    Explanation unused;
    const Graph fused = order_for_memory(fuse_pointwise(graph, unused), unused);
    return LiveBytes(fused).peak(given_order(fused));
  }

  Graph graph_;
  Explanation& why_;
  std::vector<Node> nodes_;
  std::vector<std::optional<std::size_t>> maker_;
  std::vector<std::vector<std::size_t>> readers_;
  std::optional<LiveBytes> bytes_;
  std::vector<std::size_t> last_touch_;  // of storages
};

}  // namespace

Graph recompute(Graph graph, Explanation& why, std::int64_t budget_bytes) {
  Recompute pass(std::move(graph), why);
  if (loop_compiler(DeviceType::Cpu) != nullptr) {
    pass.what_is_free();
    pass.beside_others();
  }
  if (budget_bytes != 0) pass.to_fit(budget_bytes);
  return pass.take();
}

}  // namespace pel::compiler

#include "compile/passes/fuse_pointwise.h"

#include <algorithm>
#include <queue>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compile/dependencies.h"
#include "compile/loops.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/pointwise.h"

namespace pel::compiler {
namespace {

constexpr std::size_t kMostCalls = 64;  // of one loop: registers run out long before
// Operations of a call that is computed again for each element that reads its result, where that has fewer
// elements. To load the result instead costs about as much as a few of them.
constexpr std::size_t kMostAgain = 12;

class Fusion {
 public:
  Fusion(Graph graph, Explanation& why)
      : graph_(std::move(graph)), why_(why), before_(dependencies(graph_)) {}

  Graph run() {
    find_loops();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!loops_[n]) continue;
      for (const LoopInput& input : loops_[n]->inputs) {
        if (input.value) with_maker(n, *input.value);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (loops_[n] && groups_[group_of_[n]].front() == n) with_siblings(n);
    return emit();
  }

 private:
  void find_loops() {
    const std::vector<bool> unnamed = unnamed_storages(graph_);
    FakeRun run(graph_, graph_.sizes->hints());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      const std::vector<RecordedLaunch> launches = run.call(node);
      is_view_.push_back(launches.empty());
      std::optional<LoopCall> loop = loop_of(node, launches, run);
      const auto keeps_order = [&](ValueId id) {
        return unnamed[graph_[id].storage] || graph_[id].device.type != DeviceType::Cpu;
      };
      if (loop) {
        bool is_free = !keeps_order(loop->output);
        for (const LoopInput& input : loop->inputs)
          is_free = is_free && !(input.value && keeps_order(*input.value));
        if (!is_free) loop.reset();
      }
      loops_.push_back(std::move(loop));
      group_of_.push_back(n);
      groups_.push_back({n});
    }
    maker_.resize(graph_.values.size());
    readers_.resize(graph_.values.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const GraphArg& result : graph_.nodes[n].results)
        for_values(result, [&](ValueId id) { maker_[id.number] = n; });
      for (const GraphArg& arg : graph_.nodes[n].args)
        for_values(arg, [&](ValueId id) { readers_[id.number].push_back(n); });
    }
    for (const ValueId id : graph_.outputs) is_output_.insert(id.number);
  }

  const std::vector<Dim>& sizes_of(std::size_t node) const { return graph_[loops_[node]->output].sizes; }
  bool same_sizes(std::size_t a, std::size_t b) const {
    return std::ranges::equal(sizes_of(a), sizes_of(b),
                              [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  void with_maker(std::size_t reader, ValueId value) {
    std::optional<std::size_t> maker = maker_[value.number];
    if (!maker || group_of_[*maker] == group_of_[reader]) return;
    const bool is_view = is_view_[*maker];
    while (maker && is_view_[*maker]) maker = maker_of_first(graph_.nodes[*maker]);
    if (!maker) return;  // of an input or a constant
    const GraphNode& made_by = graph_.nodes[*maker];
    const auto refuse = [&](const std::string& reason) {
      why_.decisions.push_back({"fuse_pointwise",
                                fmt::format("%{} is written by {} and read by {}", value.number,
                                            made_by.label(), graph_.nodes[reader].label()),
                                reason, graph_.nodes[reader].site});
    };
    if (!loops_[*maker]) return refuse(fmt::format("{} is no loop over elements", made_by.label()));
    if (is_view) return refuse("a view stands between them");
    const std::vector<std::size_t>& makers = groups_[group_of_[*maker]];
    if (!same_sizes(lead_of(*maker), lead_of(reader)) &&
        !std::ranges::all_of(makers, [&](std::size_t node) { return is_cheap(*loops_[node]); }))
      return refuse("it has fewer elements than its reader and costs much: computed once, it is read often");
    if (const std::string reason = try_join(group_of_[reader], group_of_[*maker]); !reason.empty())
      refuse(reason);
  }

  std::optional<std::size_t> maker_of_first(const GraphNode& node) const {
    const ValueId* first = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args[0]);
    return first == nullptr ? std::nullopt : maker_[first->number];
  }

  static bool is_cheap(const LoopCall& call) {
    return call.facts == nullptr ||
           make_expr(*call.facts, call.computation.formula, call.computation.dtype).nodes.size() <=
               kMostAgain;
  }

  // Loops that read one value and depend on each other in no way read it once.
  void with_siblings(std::size_t node) {
    const std::size_t group = group_of_[node];
    const std::vector<std::size_t> members = groups_[group];
    for (const std::size_t member : members) {
      for (const LoopInput& input : loops_[member]->inputs) {
        if (!input.value || graph_[*input.value].sizes.size() != sizes_of(member).size()) continue;
        for (const std::size_t other : readers_[input.value->number]) {
          const std::size_t theirs = group_of_[other], ours = group_of_[member];
          if (!loops_[other] || theirs == ours || !same_sizes(lead_of(member), lead_of(other))) continue;
          try_join(ours, theirs);
        }
      }
    }
  }

  // The last node of a group has all of its elements: others may have fewer, which it repeats.
  std::size_t lead_of(std::size_t node) const { return groups_[group_of_[node]].back(); }

  // Empty, or why not. The loop has the elements of `a`.
  std::string try_join(std::size_t a, std::size_t b) {
    std::vector<std::size_t> joined;
    std::ranges::merge(groups_[a], groups_[b], std::back_inserter(joined));
    if (joined.size() > kMostCalls) return fmt::format("a loop computes at most {} calls", kMostCalls);
    const std::set<std::size_t> members(joined.begin(), joined.end());
    const std::vector<ValueId> outputs = outputs_of(joined, members);
    for (const ValueId id : outputs) {
      if (!same_sizes(*maker_[id.number], groups_[a].back()))
        return fmt::format("%{} has fewer elements than the loop, and others read it too", id.number);
    }
    const std::size_t operands = inputs_of(joined, members).size() + outputs.size();
    if (operands > static_cast<std::size_t>(kMostLoopOperands))
      return fmt::format("together they have {} operands, and a loop has at most {}", operands,
                         kMostLoopOperands);
    const std::vector<std::size_t> saved = group_of_;
    for (const std::size_t node : joined) group_of_[node] = a;
    if (order().empty()) {
      group_of_ = saved;
      return "what stands between them needs the one and is needed by the other";
    }
    groups_[a] = std::move(joined);
    groups_[b].clear();
    return "";
  }

  std::vector<ValueId> inputs_of(const std::vector<std::size_t>& nodes,
                                 const std::set<std::size_t>& members) const {
    std::vector<ValueId> inputs;
    for (const std::size_t node : nodes) {
      for (const GraphArg& arg : graph_.nodes[node].args) {
        for_values(arg, [&](ValueId id) {
          const auto maker = maker_[id.number];
          if ((!maker || !members.contains(*maker)) && std::ranges::find(inputs, id) == inputs.end())
            inputs.push_back(id);
        });
      }
    }
    return inputs;
  }
  std::vector<ValueId> outputs_of(const std::vector<std::size_t>& nodes,
                                  const std::set<std::size_t>& members) const {
    std::vector<ValueId> outputs;
    for (const std::size_t node : nodes) {
      const ValueId id = loops_[node]->output;
      const bool is_read = std::ranges::any_of(readers_[id.number],
                                               [&](std::size_t reader) { return !members.contains(reader); });
      if (is_read || is_output_.contains(id.number) || is_kept(id)) outputs.push_back(id);
    }
    return outputs;
  }
  // A version of an input or a constant is seen by the caller: the last one has to be there.
  bool is_kept(ValueId id) const {
    bool is_last = true, is_callers = false;
    for (std::uint32_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].storage != graph_[id].storage) continue;
      is_last = is_last && v <= id.number;
      is_callers = is_callers || graph_.values[v].origin != GraphValue::Origin::Node;
    }
    return is_last && is_callers;
  }

  // Groups in an order in which they can run, by their first nodes where there is a choice; empty where there
  // is none.
  std::vector<std::size_t> order() const {
    const std::size_t count = graph_.nodes.size();
    std::vector<std::set<std::size_t>> needs(count);
    std::vector<std::vector<std::size_t>> needed_by(count);
    std::vector<std::size_t> first(count, count);
    std::size_t groups = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t own = group_of_[n];
      groups += first[own] == count;
      first[own] = std::min(first[own], n);
      for (const std::size_t earlier : before_[n]) {
        const std::size_t other = group_of_[earlier];
        if (other != own && needs[own].insert(other).second) needed_by[other].push_back(own);
      }
    }
    using Ready = std::pair<std::size_t, std::size_t>;  // first node, group
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<std::size_t> open(count), ordered;
    for (std::size_t g = 0; g < count; ++g) {
      open[g] = needs[g].size();
      if (first[g] != count && open[g] == 0) ready.push({first[g], g});
    }
    while (!ready.empty()) {
      const std::size_t group = ready.top().second;
      ready.pop();
      ordered.push_back(group);
      for (const std::size_t next : needed_by[group])
        if (--open[next] == 0) ready.push({first[next], next});
    }
    return ordered.size() == groups ? ordered : std::vector<std::size_t>();
  }

  Graph emit() {
    std::vector<GraphNode> nodes;
    int number = 0;
    for (const std::size_t group : order()) {
      const std::vector<std::size_t>& members = groups_[group];
      if (members.size() == 1) {
        nodes.push_back(std::move(graph_.nodes[members[0]]));
      } else {
        nodes.push_back(fused(members, number++));
      }
    }
    graph_.nodes = std::move(nodes);
    return std::move(graph_);
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    constexpr std::size_t kMostNames = 6;
    const std::set<std::size_t> inside(members.begin(), members.end());
    GraphNode node;
    for (const ValueId id : inputs_of(members, inside)) node.args.emplace_back(id);
    std::set<std::uint32_t> outputs;
    for (const ValueId id : outputs_of(members, inside)) {
      node.results.emplace_back(id);
      outputs.insert(id.number);
    }
    std::vector<std::string_view> names;
    std::vector<std::string> saved;
    for (const std::size_t member : members) {
      const GraphNode& call = graph_.nodes[member];
      if (names.size() < kMostNames && std::ranges::find(names, call.label()) == names.end())
        names.push_back(call.label());
      const ValueId made = loops_[member]->output;
      if (!outputs.contains(made.number)) saved.push_back(fmt::format("%{}", made.number));
    }
    node.name = fmt::format("{}{}_{}", kFusedPrefix, fmt::join(names, "_"), number);
    std::ranges::replace(node.name, '.', '_');
    node.site = graph_.nodes[members.back()].site;
    why_.decisions.push_back(
        {"fuse_pointwise", fmt::format("{} computes {} calls", node.name, members.size()),
         saved.empty() ? "they read the same"
                       : fmt::format("not written to memory: {}", fmt::join(saved, ", ")),
         node.site});
    for (const std::size_t member : members) node.body.push_back(std::move(graph_.nodes[member]));
    return node;
  }

  Graph graph_;
  Explanation& why_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::optional<LoopCall>> loops_;
  std::vector<bool> is_view_;  // or makes memory alone
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> groups_;  // nodes of each, in order; empty: joined to another
  std::vector<std::optional<std::size_t>> maker_;
  std::vector<std::vector<std::size_t>> readers_;
  std::set<std::uint32_t> is_output_;
};

}  // namespace

Graph fuse_pointwise(Graph graph, Explanation& why) {
  if (loop_compiler(DeviceType::Cpu) == nullptr) {
    why.decisions.push_back({"fuse_pointwise", "nothing is fused", "this build compiles no kernels", {}});
    return graph;
  }
  return Fusion(std::move(graph), why).run();
}

}  // namespace pel::compiler

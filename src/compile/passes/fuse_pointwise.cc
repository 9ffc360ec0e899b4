#include "compile/passes/fuse_pointwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/dependencies.h"
#include "compile/grouping.h"
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
  Fusion(Graph graph, Explanation& why) : graph_(std::move(graph)), why_(why), groups_(graph_) {}

  Graph run() {
    find_loops();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!loops_[n]) continue;
      for (const LoopInput& input : loops_[n]->inputs) {
        if (input.value) with_maker(n, *input.value);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (loops_[n] && members_with(n).front() == n) with_siblings(n);
    int number = 0;
    graph_.nodes =
        groups_.nodes([&](const std::vector<std::size_t>& members) { return fused(members, number++); });
    return std::move(graph_);
  }

 private:
  void find_loops() {
    const std::vector<bool> unnamed = unnamed_storages(graph_);
    FakeRun run(graph_, graph_.sizes->hints());
    for (const GraphNode& node : graph_.nodes) {
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
    }
  }

  const std::vector<std::size_t>& members_with(std::size_t node) const {
    return groups_.members(groups_.group_of(node));
  }
  const std::vector<Dim>& sizes_of(std::size_t node) const { return graph_[loops_[node]->output].sizes; }
  bool same_sizes(std::size_t a, std::size_t b) const {
    return std::ranges::equal(sizes_of(a), sizes_of(b),
                              [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  void with_maker(std::size_t reader, ValueId value) {
    std::optional<std::size_t> maker = groups_.maker(value);
    if (!maker || groups_.group_of(*maker) == groups_.group_of(reader)) return;
    const bool is_view = is_view_[*maker];
    while (maker && is_view_[*maker]) maker = maker_of_first(graph_.nodes[*maker]);
    if (!maker) return;  // of an input or a constant
    const GraphNode& made_by = graph_.nodes[*maker];
    const auto refuse = [&](const std::string& reason) {
      why_.decisions.push_back({"fuse_pointwise",
                                fmt::format("%{} is written by {} and read by {}", value.number,
                                            made_by.label(), graph_.nodes[reader].label()),
                                reason, graph_.nodes[reader].site, Decision::Kind::Refused});
    };
    if (!loops_[*maker]) return refuse(fmt::format("{} is no loop over elements", made_by.label()));
    if (is_view) return refuse("a view stands between them");
    if (!same_sizes(lead_of(*maker), lead_of(reader)) &&
        !std::ranges::all_of(members_with(*maker), [&](std::size_t node) { return is_cheap(*loops_[node]); }))
      return refuse("it has fewer elements than its reader and costs much: computed once, it is read often");
    if (const std::string reason = try_join(groups_.group_of(reader), groups_.group_of(*maker));
        !reason.empty())
      refuse(reason);
  }

  std::optional<std::size_t> maker_of_first(const GraphNode& node) const {
    const ValueId* first = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args[0]);
    return first == nullptr ? std::nullopt : groups_.maker(*first);
  }

  static bool is_cheap(const LoopCall& call) {
    return call.facts == nullptr ||
           make_expr(*call.facts, call.computation.formula, call.computation.dtype).nodes.size() <=
               kMostAgain;
  }

  // Loops that read one value and depend on each other in no way read it once.
  void with_siblings(std::size_t node) {
    const std::vector<std::size_t> members = members_with(node);
    for (const std::size_t member : members) {
      for (const LoopInput& input : loops_[member]->inputs) {
        if (!input.value || graph_[*input.value].sizes.size() != sizes_of(member).size()) continue;
        for (const std::size_t other : groups_.readers(*input.value)) {
          const std::size_t theirs = groups_.group_of(other), ours = groups_.group_of(member);
          if (!loops_[other] || theirs == ours || !same_sizes(lead_of(member), lead_of(other))) continue;
          if (makes_again(ours, theirs)) continue;
          try_join(ours, theirs);
        }
      }
    }
  }

  // Whether one makes a value that recompute has taken from the other, for readers that come later.
  bool makes_again(std::size_t a, std::size_t b) const {
    const auto is_inner = [&](std::size_t node) { return !groups_.is_output(loops_[node]->output); };
    return std::ranges::any_of(groups_.members(a), [&](std::size_t left) {
      return std::ranges::any_of(groups_.members(b), [&](std::size_t right) {
        return is_inner(left) && is_inner(right) && is_equal_call(graph_.nodes[left], graph_.nodes[right]);
      });
    });
  }
  bool is_equal_call(const GraphNode& a, const GraphNode& b) const {
    return a.op == b.op && std::ranges::equal(a.args, b.args, [&](const GraphArg& x, const GraphArg& y) {
             return to_string(x, *graph_.sizes) == to_string(y, *graph_.sizes);
           });
  }

  // The last node of a group has all of its elements: others may have fewer, which it repeats.
  std::size_t lead_of(std::size_t node) const { return members_with(node).back(); }

  // Empty, or why not. The loop has the elements of `a`.
  std::string try_join(std::size_t a, std::size_t b) {
    const std::vector<std::size_t> joined = groups_.together(a, b);
    if (joined.size() > kMostCalls) return fmt::format("a loop computes at most {} calls", kMostCalls);
    const std::vector<ValueId> outputs = groups_.outputs_of(joined);
    for (const ValueId id : outputs) {
      if (!same_sizes(*groups_.maker(id), groups_.members(a).back()))
        return fmt::format("%{} has fewer elements than the loop, and others read it too", id.number);
    }
    const std::size_t operands = groups_.inputs_of(joined).size() + outputs.size();
    if (operands > static_cast<std::size_t>(kMaxLoopOperands))
      return fmt::format("together they have {} operands, and a loop has at most {}", operands,
                         kMaxLoopOperands);
    return groups_.join(a, b);
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    GraphNode node = groups_.fused(members, kLoopPrefix, number);
    why_.decisions.push_back({"fuse_pointwise",
                              fmt::format("{} computes {} calls", node.name, members.size()),
                              what_is_saved(node, "they read the same"), node.site});
    return node;
  }

  Graph graph_;
  Explanation& why_;
  Grouping groups_;
  std::vector<std::optional<LoopCall>> loops_;
  std::vector<bool> is_view_;  // or makes memory alone
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

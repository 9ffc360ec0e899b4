#include "compile/passes/fuse_pointwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/dependencies.h"
#include "compile/gemm_calls.h"
#include "compile/grouping.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/pointwise.h"

namespace pel::compiler {
namespace {

constexpr std::size_t kMaxCalls = 64;  // of one loop: registers run out long before
// A call that has fewer elements than the loop is computed again for each element that uses its result, if it
// takes at most this many operations. To load the result instead costs about as much as a few of them.
constexpr std::size_t kMaxRepeatedOperations = 12;

class Fusion {
 public:
  Fusion(Graph graph, PassContext& context) : graph_(std::move(graph)), context_(context), groups_(graph_) {}

  Graph run() {
    find_calls();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!calls_[n]) continue;
      for (const ElementwiseInput& input : calls_[n]->inputs) {
        if (input.value) with_producer(n, *input.value);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (calls_[n] && members_with(n).front() == n) with_siblings(n);
    int number = 0;
    graph_.nodes =
        groups_.nodes([&](const std::vector<std::size_t>& members) { return fused(members, number++); });
    return std::move(graph_);
  }

 private:
  void find_calls() {
    const std::vector<bool> unnamed = unnamed_storages(graph_);
    for (const GraphNode& node : graph_.nodes) {
      is_view_.push_back(!node.is_fused() && context_.facts.of(graph_, node).launches_nothing);
      std::optional<ElementwiseCall> call = context_.facts.elementwise_call(graph_, node);
      const auto may_fuse = [&](ValueId id) {
        return !unnamed[graph_[id].storage] && compiles_loops(graph_[id].device);
      };
      if (call) {
        bool may = may_fuse(call->output);
        for (const ElementwiseInput& input : call->inputs)
          may = may && (!input.value || may_fuse(*input.value));
        if (!may) call.reset();
      }
      calls_.push_back(std::move(call));
    }
  }

  const std::vector<std::size_t>& members_with(std::size_t node) const {
    return groups_.members(groups_.group_of(node));
  }
  const std::vector<Dim>& sizes_of(std::size_t node) const { return graph_[calls_[node]->output].sizes; }
  bool same_sizes(std::size_t a, std::size_t b) const {
    return std::ranges::equal(sizes_of(a), sizes_of(b),
                              [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  void with_producer(std::size_t consumer, ValueId value) {
    std::optional<std::size_t> producer = groups_.producer(value);
    if (!producer || groups_.group_of(*producer) == groups_.group_of(consumer)) return;
    const bool is_view = is_view_[*producer];
    while (producer && is_view_[*producer]) producer = producer_of_first(graph_.nodes[*producer]);
    if (!producer) return;  // a view of an input or a constant
    const GraphNode& producing = graph_.nodes[*producer];
    const auto refuse = [&](const std::string& reason) {
      context_.why.decisions.push_back({"fuse_pointwise",
                                        fmt::format("%{}, produced by {} and consumed by {}", value.number,
                                                    producing.label(), graph_.nodes[consumer].label()),
                                        reason, graph_.nodes[consumer].site, Decision::Kind::Refused});
    };
    if (gemm_call_of(graph_, producing, context_.facts)) return;  // fuse_gemm decides, and says why not
    if (!calls_[*producer]) return refuse(fmt::format("{} is not elementwise", producing.label()));
    if (is_view) return refuse("a view lies between them");
    if (!same_sizes(lead_of(*producer), lead_of(consumer)) &&
        !std::ranges::all_of(members_with(*producer),
                             [&](std::size_t node) { return is_cheap(*calls_[node]); }))
      return refuse(
          "it has fewer elements than its consumer and is expensive: it is computed once and loaded "
          "repeatedly");
    if (const std::string reason = try_join(groups_.group_of(consumer), groups_.group_of(*producer));
        !reason.empty())
      refuse(reason);
  }

  std::optional<std::size_t> producer_of_first(const GraphNode& node) const {
    const ValueId* first = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args[0]);
    return first == nullptr ? std::nullopt : groups_.producer(*first);
  }

  static bool is_cheap(const ElementwiseCall& call) {
    return call.facts == nullptr || operations_of(call) <= kMaxRepeatedOperations;
  }

  static bool divides_integers(const ElementwiseCall& call) {
    return call.facts != nullptr && call.facts->divides && !is_floating(call.computation.dtype);
  }

  // Loops that read one value and do not depend on each other read it once.
  void with_siblings(std::size_t node) {
    const std::vector<std::size_t> members = members_with(node);
    for (const std::size_t member : members) {
      for (const ElementwiseInput& input : calls_[member]->inputs) {
        if (!input.value || graph_[*input.value].sizes.size() != sizes_of(member).size()) continue;
        for (const std::size_t other : groups_.consumers(*input.value)) {
          const std::size_t theirs = groups_.group_of(other), ours = groups_.group_of(member);
          if (!calls_[other] || theirs == ours || !same_sizes(lead_of(member), lead_of(other))) continue;
          if (recomputes(ours, theirs)) continue;
          try_join(ours, theirs);
        }
      }
    }
  }

  // Whether one is a copy that recompute made of the other, for consumers that come later.
  bool recomputes(std::size_t a, std::size_t b) const {
    const auto is_inner = [&](std::size_t node) { return !groups_.is_output(calls_[node]->output); };
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

  // The last node of a group has all of its elements: others may have fewer, which it broadcasts.
  std::size_t lead_of(std::size_t node) const { return members_with(node).back(); }

  // Empty, or why not. The loop has the elements of `a`.
  std::string try_join(std::size_t a, std::size_t b) {
    const std::vector<std::size_t> joined = groups_.together(a, b);
    if (joined.size() > kMaxCalls) return fmt::format("a loop computes at most {} calls", kMaxCalls);
    // A loop has one status for all of its calls. Divisions are bound by arithmetic: a pass over memory
    // between two of them costs little.
    if (std::ranges::count_if(joined, [&](std::size_t n) { return divides_integers(*calls_[n]); }) > 1)
      return "both divide integers, and a loop can report a divisor of 0 for one call only";
    const std::vector<ValueId> outputs = groups_.outputs_of(joined);
    for (const ValueId id : outputs) {
      if (!same_sizes(*groups_.producer(id), groups_.members(a).back()))
        return fmt::format("%{} has fewer elements than the loop, and other calls consume it", id.number);
    }
    const std::size_t operands = groups_.inputs_of(joined).size() + outputs.size();
    if (operands > static_cast<std::size_t>(kMaxLoopOperands))
      return fmt::format("together they have {} operands, and a loop has at most {}", operands,
                         kMaxLoopOperands);
    return groups_.join(a, b);
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    GraphNode node = groups_.fused(members, NodeKind::FusedElementwise, number);
    context_.why.decisions.push_back({"fuse_pointwise",
                                      fmt::format("{} computes {} calls", node.name, members.size()),
                                      what_is_saved(node, "they read the same values"), node.site});
    return node;
  }

  Graph graph_;
  PassContext& context_;
  Grouping groups_;
  std::vector<std::optional<ElementwiseCall>> calls_;
  std::vector<bool> is_view_;  // or only allocates memory
};

}  // namespace

Graph fuse_pointwise(Graph graph, PassContext& context) {
  if (!compiles_loops(graph)) {
    context.why.decisions.push_back(
        {"fuse_pointwise", "nothing is fused", "this build compiles no kernels", {}});
    return graph;
  }
  return Fusion(std::move(graph), context).run();
}

}  // namespace pel::compiler

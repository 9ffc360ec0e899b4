#include "compile/passes/fuse_gemm.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compile/dependencies.h"
#include "compile/gemm_calls.h"
#include "compile/grouping.h"
#include "dispatch/pointwise.h"

namespace pel::compiler {
namespace {

constexpr std::size_t kMaxEpilogueInputs = 6, kMaxResults = 2;  // of the elementwise loop over the sums

class GemmFusion {
 public:
  GemmFusion(Graph graph, PassContext& context)
      : graph_(std::move(graph)),
        context_(context),
        groups_(graph_),
        before_(dependencies(graph_)),
        unnamed_(unnamed_storages(graph_)),
        is_taken_(graph_.nodes.size()),
        taken_by_(graph_.nodes.size()) {}

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (is_elementwise(graph_.nodes[n])) with_matmul(n);
    std::vector<GraphNode> nodes;
    int number = 0;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_taken_[n]) continue;
      nodes.push_back(taken_by_[n].empty() ? graph_.nodes[n] : fused(taken_by_[n], number++));
    }
    graph_.nodes = std::move(nodes);
    return std::move(graph_);
  }

 private:
  bool is_elementwise(const GraphNode& node) const {
    if (node.kind == NodeKind::FusedElementwise) return true;
    return !node.is_fused() && context_.facts.elementwise_call(graph_, node).has_value();
  }

  // The matmul that produces a value, then views, in order; empty if it is not produced by one.
  std::vector<std::size_t> chain_to(ValueId value) const {
    std::vector<std::size_t> chain;
    for (std::optional<std::size_t> producer = groups_.producer(value); producer && !is_taken_[*producer];) {
      const GraphNode& node = graph_.nodes[*producer];
      chain.insert(chain.begin(), *producer);
      if (gemm_call_of(graph_, node, context_.facts)) return chain;
      if (node.is_fused() || !context_.facts.of(graph_, node).launches_nothing || node.results.size() != 1 ||
          !std::holds_alternative<ValueId>(node.results[0]) || node.args.empty() ||
          !std::holds_alternative<ValueId>(node.args[0]))
        return {};
      producer = groups_.producer(std::get<ValueId>(node.args[0]));
    }
    return {};
  }

  void with_matmul(std::size_t n) {
    struct Candidate {
      ValueId value;
      std::vector<std::size_t> chain;
      std::string reason;
    };
    std::vector<Candidate> candidates;
    std::size_t last = 0;  // the matmul that takes the node
    for (const GraphArg& arg : graph_.nodes[n].args) {
      for_values(arg, [&](ValueId id) {
        std::vector<std::size_t> chain = chain_to(id);
        if (chain.empty()) return;
        std::string reason = why_not(chain, n, id);
        if (reason.empty()) last = std::max(last, chain[0]);
        candidates.push_back({id, std::move(chain), std::move(reason)});
      });
    }
    const auto gemm = [&](const Candidate& c) { return c.chain[0]; };
    std::optional<std::size_t> partner;  // a matmul that is computed with it
    for (const Candidate& c : candidates)
      if (c.reason.empty() && gemm(c) != last && have_one_kernel(gemm(c), last)) partner = gemm(c);
    std::vector<std::size_t> members;
    for (Candidate& c : candidates) {
      if (c.reason.empty() && (gemm(c) == last || gemm(c) == partner)) {
        if (is_taken_[gemm(c)]) continue;  // the node reads its result twice
        for (const std::size_t taken : c.chain) is_taken_[taken] = true;
        members.insert(members.end(), c.chain.begin(), c.chain.end());
        continue;
      }
      if (c.reason.empty()) c.reason = "another matmul takes it";
      context_.why.decisions.push_back(
          {"fuse_gemm",
           fmt::format("%{}, produced by {} and consumed by {}", c.value.number,
                       graph_.nodes[c.chain[0]].label(), graph_.nodes[n].label()),
           c.reason, graph_.nodes[n].site, Decision::Kind::Refused});
    }
    if (members.empty()) return;
    std::ranges::sort(members);
    members.push_back(n);
    taken_by_[n] = std::move(members);
  }

  // Whether two matmuls can be one kernel with two sums.
  bool have_one_kernel(std::size_t a, std::size_t b) const {
    const GraphNode &first = graph_.nodes[a], &second = graph_.nodes[b];
    const auto result = [](const GraphNode& node) { return std::get<ValueId>(node.results[0]); };
    return share_left_operand(first, second) && same_sizes(result(first), result(second));
  }

  // Empty, or why the matmul cannot take node `n`, which reads its result as `value`.
  std::string why_not(const std::vector<std::size_t>& chain, std::size_t n, ValueId value) const {
    const GraphNode &gemm = graph_.nodes[chain[0]], &node = graph_.nodes[n];
    if (node.results.size() > kMaxResults)
      return fmt::format("it has {} results, and a matmul writes at most {}", node.results.size(),
                         kMaxResults);
    const ValueList results = values_in(node.results);
    const ValueId result = results[0], product = std::get<ValueId>(gemm.results[0]);
    const auto is_written_to = [&](ValueId id) {
      return std::ranges::any_of(results,
                                 [&](ValueId to) { return graph_[to].storage == graph_[id].storage; });
    };
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const ValueId made = std::get<ValueId>(graph_.nodes[chain[i]].results[0]);
      const std::size_t consumer = i + 1 < chain.size() ? chain[i + 1] : n;
      const auto& consumers = groups_.consumers(made);
      const auto is_other = [&](std::size_t other) { return other != consumer; };
      if (!groups_.is_output(made) && std::ranges::none_of(consumers, is_other)) continue;
      // What later nodes read is written, too: by the matmul, but not by a view.
      const bool is_read_later =
          std::ranges::all_of(consumers, [&](std::size_t other) { return other == consumer || other > n; });
      if (i > 0 || !is_read_later || !graph_[made].is_row_major)
        return fmt::format("%{} has other consumers, so it must be written to memory", made.number);
      if (is_written_to(made))
        return fmt::format("%{} has other consumers, and it is overwritten", made.number);
    }
    for (const ValueId id : results) {
      if (!same_sizes(id, result)) return "its results have several sizes";
      if (!graph_[id].is_row_major) return "a result is not stored row after row";
    }
    if (!same_sizes(result, value)) return "it has fewer elements than its consumer";
    if (!equal(graph_[value].sizes.back(), graph_[product].sizes.back()))
      return "a view between them changes its columns";
    // The loop over the sums visits every row, and the result has no memory for those that a view leaves out.
    if (!same_sizes(value, product) && !equal(elements(value), elements(product)))
      return "a view between them leaves out rows";
    if (!graph_[value].is_row_major) return "the matmul's result is not read row after row";
    std::size_t inputs = 0;
    bool is_unnamed = std::ranges::any_of(results, [&](ValueId id) { return unnamed_[graph_[id].storage]; });
    for (const GraphArg& arg : node.args) {
      std::string reason;
      for_values(arg, [&](ValueId id) {
        is_unnamed = is_unnamed || unnamed_[graph_[id].storage];
        if (id == value) return;
        ++inputs;
        if (!is_matrix(id, result))
          reason =
              fmt::format("%{}, which {} reads too, is not a matrix of that size", id.number, node.label());
      });
      if (!reason.empty()) return reason;
    }
    if (is_unnamed) return "views of memory that it reads or writes are written to";
    if (inputs > kMaxEpilogueInputs)
      return fmt::format("it reads {} other tensors, and a matmul reads at most {}", inputs,
                         kMaxEpilogueInputs);
    for (const GraphNode& call : calls_of(node))
      if (divides_integers(call)) return "it divides integers, which may fail";
    for (const GraphArg& arg : gemm.args) {
      bool overlaps = false;
      for_values(
          arg, [&](ValueId id) { overlaps = overlaps || is_written_to(id) || unnamed_[graph_[id].storage]; });
      if (overlaps) return "it writes to memory that the matmul reads";
    }
    // The matmul moves down to the node: nothing between them may have to come after it.
    for (std::size_t between = chain[0] + 1; between < n; ++between) {
      if (std::ranges::find(chain, between) != chain.end()) continue;
      for (const std::size_t moved : chain)
        if (std::ranges::find(before_[between], moved) != before_[between].end())
          return fmt::format("{} between them overwrites what the matmul reads",
                             graph_.nodes[between].label());
    }
    return {};
  }

  static std::vector<GraphNode> calls_of(const GraphNode& node) {
    return node.is_fused() ? node.body : std::vector<GraphNode>{node};
  }
  bool divides_integers(const GraphNode& call) const {
    const std::optional<ElementwiseCall> computed = context_.facts.elementwise_call(graph_, call);
    return computed && computed->facts != nullptr && computed->facts->divides &&
           !is_floating(computed->computation.dtype);
  }

  bool equal(Dim a, Dim b) const { return graph_.sizes->is_known_equal(a, b); }
  bool same_sizes(ValueId a, ValueId b) const {
    return std::ranges::equal(graph_[a].sizes, graph_[b].sizes, [&](Dim x, Dim y) { return equal(x, y); });
  }
  Dim elements(ValueId id) const {
    Dim count = 1;
    for (const Dim size : graph_[id].sizes) count = graph_.sizes->combine(detail::DimOp::Mul, count, size);
    return count;
  }
  // Whether a value that broadcasts to `result` has rows at equal distances, or repeats one row or one
  // number.
  bool is_matrix(ValueId id, ValueId result) const {
    const GraphValue& value = graph_[id];
    const std::vector<Dim>& shown = graph_[result].sizes;
    const std::size_t rank = value.sizes.size();
    const auto own = shown.end() - static_cast<std::ptrdiff_t>(rank);
    const auto is_one = [&](Dim size) { return equal(size, 1); };
    if (std::all_of(shown.begin(), own, is_one) &&
        std::equal(own, shown.end(), value.sizes.begin(), [&](Dim x, Dim y) { return equal(x, y); }))
      return value.is_row_major || rank == 2;
    return rank <= 1 || std::all_of(value.sizes.begin(), value.sizes.end() - 1, is_one);
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    GraphNode node = groups_.fused(members, NodeKind::FusedGemm, number);
    const bool has_two = right_matrices(node).size() == 2;
    context_.why.decisions.push_back(
        {"fuse_gemm",
         fmt::format("{} takes {}{}", node.name, graph_.nodes[members.back()].label(),
                     has_two ? ", over the sums of two matmuls of one matrix" : ""),
         what_is_saved(node, "the result of the matmul is not read again"), node.site});
    return node;
  }

  Graph graph_;
  PassContext& context_;
  Grouping groups_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<bool> unnamed_;
  std::vector<bool> is_taken_;                      // by a later node
  std::vector<std::vector<std::size_t>> taken_by_;  // matmul, views and the node itself
};

}  // namespace

Graph fuse_gemm(Graph graph, PassContext& context) {
  if (!compiles_loops(graph)) return graph;  // fuse_pointwise has said so
  return GemmFusion(std::move(graph), context).run();
}

}  // namespace pel::compiler

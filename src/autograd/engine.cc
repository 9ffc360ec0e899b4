#include "autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/profile.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel::autograd {
namespace {

struct Capture {
  std::uint32_t output;
  std::size_t input;
};

// The state of one node during the walk.
struct Visit {
  std::uint32_t waits_for = 0;  // edges into it that have not been walked
  std::uint32_t order = 0;      // of discovery: makes the order of nodes total
  bool is_needed = true;        // an input is reached through it
  bool sums_are_own = false;    // `grads` were summed here: no other tensor shares them
  std::vector<Tensor> grads;
  std::vector<Capture> captures;
};

class BackwardRange : public Range {
 public:
  explicit BackwardRange(const Node& node)
      // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): names of nodes are zero-terminated
      : Range(ProfileEvent::Kind::Backward, node.name().data(), node.site(),
              node.is_leaf() ? 0 : node.sequence()) {}
};

class Walk {
 public:
  Walk(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs, const BackwardOptions& options, bool accumulates)
      : options_(options), accumulates_(accumulates), found_(inputs.size()) {
    for (std::size_t i = 0; i < outputs.size(); ++i) begin(outputs, i);
    discover();
    if (!accumulates) mark_needed(inputs);
  }

  std::vector<Tensor> run() {
    // Later calls first: then their arguments' nodes have all gradients as early as possible.
    const auto comes_later = [this](Node* a, Node* b) {
      return a->sequence() != b->sequence() ? a->sequence() < b->sequence()
                                            : visits_.at(a).order > visits_.at(b).order;
    };
    std::priority_queue<Node*, std::vector<Node*>, decltype(comes_later)> ready(comes_later);
    for (Node* root : roots_) {
      if (visits_.at(root).waits_for == 0) ready.push(root);
    }
    while (!ready.empty()) {
      Node* node = ready.top();
      ready.pop();
      Visit& visit = visits_.at(node);
      visit.grads.resize(node->result_count());
      run_hooks(*node, visit);
      for (const Capture& capture : visit.captures) found_[capture.input] = visit.grads[capture.output];
      if (visit.is_needed) pass_on(*node, visit);
      visit.grads.clear();
      for (const Edge& edge : node->edges()) {
        if (edge.node && --visits_.at(edge.node.get()).waits_for == 0) ready.push(edge.node.get());
      }
    }
    return std::move(found_);
  }

 private:
  void begin(ArrayView<Tensor> outputs, std::size_t i) {
    const Tensor& output = outputs[i];
    const History* history = output.defined() ? current_history(output) : nullptr;
    PEL_CHECK(
        history, ValueError,
        "output {} does not require a gradient: no argument of the calls that produced it did, or they ran "
        "inside NoGrad",
        output.defined() ? describe(output) : "undefined");
    Tensor grad = options_.gradients.empty() ? Tensor() : options_.gradients.at(i);
    if (!grad.defined()) {
      PEL_CHECK(
          output.numel() == 1, ShapeError,
          "output {} has more than one element; pass its gradient in options.gradients, or sum it first",
          describe(output));
      grad = ones_like(output);
    }
    PEL_CHECK(identical(grad.sizes(), output.sizes()), ShapeError,
              "the gradient {} and the output {} have different sizes", describe(grad), describe(output));
    Node* node = history->edge.node.get();
    held_.push_back(history->edge.node);
    Visit& visit = visits_[node];
    receive(*node, visit, history->edge.output, grad);
    if (std::find(roots_.begin(), roots_.end(), node) == roots_.end()) roots_.push_back(node);
  }

  void discover() {
    std::vector<Node*> pending = roots_;  // each once: its edges are counted
    std::uint32_t order = 0;
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      discovered_.push_back(node);
      visits_[node].order = order++;
      for (const Edge& edge : node->edges()) {
        if (!edge.node) continue;
        const auto [found, is_new] = visits_.try_emplace(edge.node.get());
        ++found->second.waits_for;
        if (is_new) pending.push_back(edge.node.get());
      }
    }
  }

  void mark_needed(ArrayView<Tensor> inputs) {
    for (auto& [node, visit] : visits_) visit.is_needed = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const History* history = inputs[i].defined() ? current_history(inputs[i]) : nullptr;
      PEL_CHECK(history, ValueError, "input {} does not require a gradient",
                inputs[i].defined() ? describe(inputs[i]) : "undefined");
      const auto found = visits_.find(history->edge.node.get());
      if (found != visits_.end()) found->second.captures.push_back({history->edge.output, i});
    }
    // Children before parents: each node once all of its edges are decided.
    std::vector<std::pair<Node*, std::size_t>> path;
    std::unordered_map<Node*, bool> is_done;
    for (Node* start : discovered_) {
      if (is_done[start]) continue;
      path.emplace_back(start, 0);
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next < node->edges().size()) {
          Node* below = node->edges()[next++].node.get();
          if (below && !is_done[below]) path.emplace_back(below, 0);
          continue;
        }
        Visit& visit = visits_.at(node);
        for (const Edge& edge : node->edges()) {
          if (!edge.node) continue;
          const Visit& below = visits_.at(edge.node.get());
          visit.is_needed = visit.is_needed || below.is_needed || !below.captures.empty();
        }
        is_done[node] = true;
        path.pop_back();
      }
    }
  }

  void run_hooks(Node& node, Visit& visit) {
    const auto hooks = node.hooks();  // one may remove itself
    for (const Node::NodeHook& hook : hooks) {
      Tensor& grad = visit.grads[hook.output];
      if (!grad.defined()) continue;
      Tensor changed = hook.run(grad);
      if (changed.defined()) grad = std::move(changed);
    }
  }

  void pass_on(Node& node, Visit& visit) {
    if (node.is_leaf() && !accumulates_) return;
    const bool any =
        std::any_of(visit.grads.begin(), visit.grads.end(), [](const Tensor& t) { return t.defined(); });
    std::vector<Tensor> input_grads;
    if (any) {
      const BackwardRange range(node);
      input_grads = node.run(std::move(visit.grads));
    }
    if (!options_.retain_graph && !options_.create_graph) node.release_saved();
    for (std::size_t e = 0; e < input_grads.size(); ++e) {
      const Edge& edge = node.edges()[e];
      if (!edge.node || !input_grads[e].defined()) continue;
      Visit& below = visits_.at(edge.node.get());
      Tensor shaped = shaped_as(input_grads[e], edge.node->info(edge.output), node.name());
      input_grads[e] = Tensor();
      receive(*edge.node, below, edge.output, std::move(shaped));
    }
  }

  void receive(Node& node, Visit& visit, std::uint32_t output, Tensor grad) {
    if (visit.grads.size() < node.result_count()) visit.grads.resize(node.result_count());
    Tensor& sum = visit.grads[output];
    if (!sum.defined()) {
      sum = std::move(grad);
    } else if (visit.sums_are_own && !options_.create_graph && node.result_count() == 1) {
      add_(sum, grad);
    } else {
      sum = add(sum, grad);
      visit.sums_are_own = true;
    }
  }

  const BackwardOptions& options_;
  bool accumulates_;
  std::vector<Tensor> found_;
  std::vector<NodePtr> held_;
  std::vector<Node*> roots_;
  std::vector<Node*> discovered_;
  std::unordered_map<Node*, Visit> visits_;
};

}  // namespace

std::vector<Tensor> walk(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs, const BackwardOptions& options,
                         bool accumulates) {
  PEL_CHECK(options.gradients.empty() || options.gradients.size() == outputs.size(), ValueError,
            "options.gradients has {} tensors for {} outputs; expected one for each",
            options.gradients.size(), outputs.size());
  std::optional<NoGrad> no_grad;
  std::optional<EnableGrad> enable;
  if (options.create_graph) {
    enable.emplace();
  } else {
    no_grad.emplace();
  }
  return Walk(outputs, inputs, options, accumulates).run();
}

}  // namespace pel::autograd

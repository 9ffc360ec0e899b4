// The node that produced a tensor's value, also after in-place writes through views.
//
// A write through a view changes its base: the base's new history is a node that takes the gradient of the
// base apart, sends the part under the view through the write's own node, and the rest on as it was. Other
// views of the base find at their next use that the base's history was rewritten, and are from then on the
// base's new value seen through their sizes and strides.
//
// Views of tensors that require no gradient are not followed. The first write with a gradient through one of
// them finds the base as the tensor that the memory was made with, and marks the memory, so that calls on
// its other views come here too.
#include <mutex>

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"

#include "autograd/node.h"
#include "base/check.h"
#include "ops/shared/window.h"
#include "tensor/make.h"

namespace pel::autograd {
namespace {

using detail::TensorHeader;

// The tensor that memory was made with. Its header lies in the block of the memory, and is there even when
// the last reference to it is gone.
TensorHeader* home_of(const Tensor& t) { return static_cast<TensorHeader*>(t.header()->storage->block); }
Tensor home_tensor(const Tensor& t) {
  TensorHeader* home = home_of(t);
  if (home->refs.fetch_add(1, std::memory_order_acq_rel) == 0)
    home->storage->refs.fetch_add(1, std::memory_order_relaxed);
  return Tensor(home);
}

// The base as a view sees it, after a write through another view.
class WindowNode final : public Node {
 public:
  WindowNode(const Tensor& base, const Tensor& view)
      : Node(Site{}, next_sequence()), base_(base), view_(view) {
    add_result(view);
  }
  std::string_view name() const override { return "as_strided"; }
  std::vector<Tensor> run(std::vector<Tensor> grads) override {
    if (!grads[0].defined()) return {Tensor()};
    return {window_gradient(grads[0], base_, view_)};
  }

 private:
  Window base_, view_;
};

// The base after a write through a view. Edges: the base before it, then those of the write but for what it
// wrote to: the first argument of every op that writes.
class WindowWriteNode final : public Node {
 public:
  WindowWriteNode(const Tensor& base, const Tensor& view, NodePtr write)
      : Node(write->site(), next_sequence()), base_(base), view_(view), write_(std::move(write)) {
    add_result(base);
  }
  std::string_view name() const override { return write_->name(); }
  std::vector<Tensor> run(std::vector<Tensor> grads) override {
    if (!grads[0].defined()) return std::vector<Tensor>(edges().size());
    const Tensor whole = base_.filled(grads[0]);
    const Tensor part = view_.of(whole);
    std::vector<Tensor> inner = write_->run({part.clone()});
    const Tensor& below = inner[0];
    if (below.defined()) {
      copy_(part, below);
    } else {
      zero_(part);
    }
    std::vector<Tensor> result = {base_.of(whole)};
    for (std::size_t i = 1; i < inner.size(); ++i) result.push_back(std::move(inner[i]));
    return result;
  }
  void release_saved() override {
    write_->release_saved();
    Node::release_saved();
  }

 private:
  Window base_, view_;
  NodePtr write_;
};

std::mutex& rewriting() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

void bring_up_to_date(const Tensor& view, History& mine) {
  const std::lock_guard lock(rewriting());
  const History* base = history_of(mine.base);
  if (base == nullptr || base->rewritten == mine.seen) return;
  NodePtr node(new WindowNode(mine.base, view));
  node->edges().push_back(base->edge);
  mine.edge = {std::move(node), 0};
  mine.seen = base->rewritten;
  view.header()->keys |= kAutogradBit;
}

}  // namespace

History& make_history(const Tensor& t) {
  if (t.header()->autograd == nullptr) t.header()->autograd = new History;
  return *history_of(t);
}

History* current_history(const Tensor& t) {
  History* mine = history_of(t);
  const bool is_marked = t.header()->storage->keys & kAutogradBit;
  if (mine == nullptr) {
    // A view without history, of memory that a call with a gradient wrote to.
    if (!is_marked || t.header()->is_detached || home_of(t) == t.header()) return nullptr;
    mine = &make_history(t);
    mine->base = home_tensor(t);
  }
  if (mine->base.defined()) bring_up_to_date(t, *mine);
  return mine->edge.node ? mine : nullptr;
}

void set_edge(const Tensor& result, Edge edge) {
  make_history(result).edge = std::move(edge);
  result.header()->keys |= kAutogradBit;
}

void set_view_edge(const Tensor& view, const Tensor& of, Edge edge) {
  History& mine = make_history(view);
  mine.edge = std::move(edge);
  const History* from = history_of(of);
  mine.base = from && from->base.defined() ? from->base : of;
  const History* base = history_of(mine.base);
  mine.seen = base ? base->rewritten : 0;
  view.header()->keys |= kAutogradBit;
}

void rewrite_history(const Tensor& t, NodePtr node) {
  const std::lock_guard lock(rewriting());
  History& mine = make_history(t);
  const bool is_home = home_of(t) == t.header();
  if (!mine.base.defined() && !is_home && !mine.edge.node) {
    PEL_CHECK(!t.header()->is_detached || t.header()->storage->refs.load(std::memory_order_relaxed) == 1,
              AliasError,
              "a value with a gradient is written into {}, which was detached from a tensor and shares its "
              "memory; write "
              "to a clone",
              describe(t));
    mine.base = home_tensor(t);
  }
  if (!mine.base.defined()) {
    mine.edge = {std::move(node), 0};
    ++mine.rewritten;
    t.header()->keys |= kAutogradBit;
    // Views that were made of it before, and are not followed, are now views of this value.
    if (is_home && !t.header()->is_detached) t.header()->storage->keys |= kAutogradBit;
    return;
  }
  History& base = make_history(mine.base);
  NodePtr write(new WindowWriteNode(mine.base, t, node));
  write->edges().push_back(base.edge);
  for (std::size_t i = 1; i < node->edges().size(); ++i) write->edges().push_back(node->edges()[i]);
  base.edge = {std::move(write), 0};
  ++base.rewritten;
  mine.base.header()->keys |= kAutogradBit;
  mine.base.header()->storage->keys |= kAutogradBit;
  NodePtr window(new WindowNode(mine.base, t));
  window->edges().push_back(base.edge);
  mine.edge = {std::move(window), 0};
  mine.seen = base.rewritten;
  t.header()->keys |= kAutogradBit;
}

}  // namespace pel::autograd

namespace pel::detail {

void release_autograd(TensorHeader* header) noexcept {
  delete static_cast<autograd::History*>(header->autograd);
  header->autograd = nullptr;
}

}  // namespace pel::detail

#include "autograd/node.h"

#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "autograd/leaf_watch.h"
#include "base/check.h"
#include "tensor/make.h"

namespace pel::autograd {
namespace {

// Nodes whose last reference was dropped while another node was being destroyed. A chain of a million calls
// must not become a million nested destructors.
struct Doomed {
  std::vector<Node*> nodes;
  bool is_running = false;
};
constinit thread_local Doomed* doomed = nullptr;

}  // namespace

NodePtr::NodePtr(const NodePtr& other) : node_(other.node_) {
  if (node_) node_->refs_.fetch_add(1, std::memory_order_relaxed);
}

NodePtr::~NodePtr() {
  if (!node_ || node_->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (doomed) {
    doomed->nodes.push_back(node_);
    return;
  }
  Doomed mine;
  doomed = &mine;
  delete node_;
  while (!mine.nodes.empty()) {
    Node* next = mine.nodes.back();
    mine.nodes.pop_back();
    delete next;
  }
  doomed = nullptr;
}

std::uint64_t next_sequence() {
  static constinit thread_local std::uint64_t sequence = 1;  // 0: none
  return sequence++;
}

std::uint64_t next_hook_id() {
  static constinit std::atomic<std::uint64_t> id{0};
  return id.fetch_add(1, std::memory_order_relaxed);
}

ResultInfo info_of(const Tensor& t) {
  return {DimVector(t.sizes()), DimVector(t.strides()), t.dtype(), t.device()};
}

void Node::add_result(const Tensor& t) {
  if (!has_result_) {
    first_info_ = info_of(t);
    has_result_ = true;
  } else {
    further_infos_.push_back(info_of(t));
  }
}

void Node::check_not_released() const {
  PEL_CHECK(!is_released_, ValueError,
            "backward was run through this graph before and released its saved tensors: {} at {}:{}; set "
            "retain_graph the "
            "first time",
            name(), site().file_name(), site().line());
}

Tensor shaped_as(const Tensor& grad, const ResultInfo& info, std::string_view op) {
  Tensor shaped = grad;
  const Dims wanted = info.sizes;
  if (!(grad.sizes().size() == wanted.size() &&
        std::equal(wanted.begin(), wanted.end(), grad.sizes().begin()))) {
    const std::size_t rank = grad.sizes().size();
    PEL_ASSERT(rank >= wanted.size(), "a gradient has the axes of what was broadcast");
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t lead = rank - wanted.size();
      if (i < lead || wanted[i - lead] != grad.sizes()[i]) {
        PEL_CHECK(i < lead || wanted[i - lead] == 1, InternalError,
                  "the gradient of {} has sizes {} for an argument with sizes {}", op,
                  to_string(grad.sizes()), to_string(wanted));
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    shaped = sum(grad, axes, KeepDims::Yes).view(wanted);
  }
  return shaped.dtype() == info.dtype ? shaped : shaped.to(info.dtype);
}

// Whether several indices address one element, as in an expanded tensor.
static bool repeats_elements(const Tensor& t) {
  for (std::size_t i = 0; i < t.sizes().size(); ++i)
    if (is_literally(t.strides()[i], 0) && !is_literally(t.sizes()[i], 1)) return true;
  return false;
}

LeafWatch*& thread_leaf_watch() {
  static constinit thread_local LeafWatch* watch = nullptr;
  return watch;
}

std::vector<Tensor> LeafNode::run(std::vector<Tensor> grads) {
  Tensor& arrived = grads[0];
  if (!arrived.defined()) return {};
  LeafWatch* const watch = thread_leaf_watch();
  Tensor& mine = watch != nullptr ? watch->gradient(*this) : grad;
  if (mine.defined()) {
    if (history_of(arrived) || history_of(mine)) {
      mine = add(mine, arrived);  // the sum has a gradient itself
    } else {
      add_(mine, arrived);
    }
    return {};
  }
  // Stored without a copy if no other tensor shares the memory and no element repeats; otherwise a write to
  // one gradient would change another.
  const auto refs = [](const auto& counted) { return counted->refs.load(std::memory_order_relaxed); };
  const bool is_own = watch != nullptr ? watch->is_own(arrived)
                                       : refs(arrived.header()) == 1 && refs(arrived.header()->storage) == 1;
  mine = (is_own && !repeats_elements(arrived)) || history_of(arrived) ? std::move(arrived) : arrived.clone();
  return {};
}

}  // namespace pel::autograd

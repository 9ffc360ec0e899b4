// The graph that a forward pass records: a node for each call whose results require a gradient, with edges to
// the nodes of its arguments. Tensors own nodes, never the other way round, so there are no cycles; a node
// saves its own results without their history.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "pellucid/extend/vjp.h"
#include "pellucid/tensor.h"

#include "tensor/block_pool.h"
#include "tensor/layout.h"

namespace pel::autograd {

class Node;

inline constexpr std::uint16_t kAutogradBit = KeySet(Key::Autograd).bits();

// Counts references. The last one destroys the node and, without recursion, the nodes that only it owned.
class NodePtr {
 public:
  NodePtr() = default;
  explicit NodePtr(Node* adopted) : node_(adopted) {}
  NodePtr(const NodePtr& other);
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr();
  explicit operator bool() const { return node_ != nullptr; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  Node* get() const { return node_; }

 private:
  Node* node_ = nullptr;
};

// A result of a node, to which a gradient is passed.
struct Edge {
  NodePtr node;  // null: the argument requires no gradient
  std::uint32_t output = 0;
};

// Sizes, dtype and device of a result, which its gradient must have too.
struct ResultInfo {
  DimVector sizes, strides;  // strides: as the forward pass had them; a gradient may have others
  DType dtype = kF32;
  Device device = kCpu;
};
ResultInfo info_of(const Tensor& t);
// Sums a gradient over axes along which the argument was broadcast, and casts it to the argument's dtype.
Tensor shaped_as(const Tensor& grad, const ResultInfo& info, std::string_view op);

using Hook = std::function<Tensor(const Tensor&)>;

// Allocated from the free lists of tensors: nodes come and go with tensors, and as fast.
struct Pooled {
  static void* operator new(std::size_t bytes) { return take_block(block_class_for(bytes)); }
  static void operator delete(void* block, std::size_t bytes) { give_block(block, block_class_for(bytes)); }
};

class Node : public Pooled {
 public:
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string_view name() const = 0;  // zero-terminated; lives as long as the process
  // Returns the gradients of the arguments, one for each edge. An undefined gradient means zero.
  virtual std::vector<Tensor> run(std::vector<Tensor> grads) = 0;
  virtual void release_saved() { is_released_ = true; }  // after the last backward
  virtual bool is_leaf() const { return false; }
  bool is_released() const { return is_released_; }

  const Site& site() const { return site_; }
  std::uint64_t sequence() const { return sequence_; }
  std::vector<Edge>& edges() { return edges_; }
  const std::vector<Edge>& edges() const { return edges_; }
  Edge edge_to(std::uint32_t output) {
    refs_.fetch_add(1, std::memory_order_relaxed);
    return {NodePtr(this), output};
  }
  std::size_t result_count() const { return 1 + further_infos_.size(); }
  const ResultInfo& info(std::size_t result) const {
    return result == 0 ? first_info_ : further_infos_[result - 1];
  }
  void add_result(const Tensor& t);

  struct NodeHook {
    std::uint32_t output;
    std::uint64_t id;
    Hook run;
  };
  std::vector<NodeHook>& hooks() { return hooks_; }

 protected:
  Node(const Site& site, std::uint64_t sequence) : site_(site), sequence_(sequence) {}
  void check_not_released() const;  // throws after release_saved

 private:
  friend class NodePtr;
  std::atomic<std::uint32_t> refs_{1};
  bool has_result_ = false;
  bool is_released_ = false;
  Site site_;
  std::uint64_t sequence_;  // grows with each node of a thread; that of a leaf is the maximum
  std::vector<Edge> edges_;
  ResultInfo first_info_;
  std::vector<ResultInfo> further_infos_;
  std::vector<NodeHook> hooks_;
};

std::uint64_t next_sequence();
std::uint64_t next_hook_id();

// A leaf, where gradients are accumulated.
class LeafNode final : public Node {
 public:
  explicit LeafNode(const Tensor& t) : Node(Site{}, ~std::uint64_t{0}) { add_result(t); }
  std::string_view name() const override { return "leaf"; }
  std::vector<Tensor> run(std::vector<Tensor> grads) override;  // adds to `grad`
  bool is_leaf() const override { return true; }
  Tensor grad;
};

// The history of a tensor; header()->autograd points at it, and the tensor owns it.
struct History : Pooled {
  Edge edge;
  // Of a view: the tensor that it is a view of, through any number of views, and how often that tensor's
  // history had been rewritten when `edge` was made. Undefined for others.
  Tensor base;
  std::uint32_t seen = 0;
  std::uint32_t rewritten = 0;
  std::shared_ptr<Tensor> retained;  // by retain_grad
};

inline History* history_of(const Tensor& t) { return static_cast<History*>(t.header()->autograd); }
// The same, created if there is none, and updated after writes through other views of the same memory. Null
// if the tensor requires no gradient.
History* current_history(const Tensor& t);
History& make_history(const Tensor& t);
// Makes `edge` the history of a result.
void set_edge(const Tensor& result, Edge edge);
// Records that `node` overwrote `t`, which may be a view.
void rewrite_history(const Tensor& t, NodePtr node);
// Sets the history of a view that an op made of a tensor that requires a gradient.
void set_view_edge(const Tensor& view, const Tensor& of, Edge edge);

}  // namespace pel::autograd

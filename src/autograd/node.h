// The graph that a forward pass leaves behind: a node for each call whose results require a gradient, with
// edges to the nodes of its arguments. Tensors point at nodes, never the other way round, so there are no
// cycles; what a node keeps of its own results it keeps without their history.
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

// Counts references. The last one to go destroys the node, and without recursion all that only it held.
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

// A result of a node: what a gradient flows to.
struct Edge {
  NodePtr node;  // null: the argument requires no gradient
  std::uint32_t output = 0;
};

// What a gradient that arrives at a result must look like.
struct ResultInfo {
  DimVector sizes, strides;  // strides: as the forward pass had them; a gradient may have others
  DType dtype = kF32;
  Device device = kCpu;
};
ResultInfo info_of(const Tensor& t);
// Summed where the argument was broadcast, and cast to its dtype.
Tensor shaped_as(const Tensor& grad, const ResultInfo& info, std::string_view op);

using Hook = std::function<Tensor(const Tensor&)>;

// Blocks of the tensors' own free lists: nodes come and go with tensors, and as fast.
struct Pooled {
  static void* operator new(std::size_t bytes) { return take_block(block_class_for(bytes)); }
  static void operator delete(void* block, std::size_t bytes) { give_block(block, block_class_for(bytes)); }
};

class Node : public Pooled {
 public:
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string_view name() const = 0;
  // From gradients of the results, undefined where nothing flows, those of the arguments, one for each edge.
  virtual std::vector<Tensor> run(std::vector<Tensor> grads) = 0;
  virtual void release_kept() { is_released_ = true; }  // the graph will not be walked again
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
  void check_is_kept() const;  // throws after release_kept

 private:
  friend class NodePtr;
  std::atomic<std::uint32_t> refs_{1};
  bool has_result_ = false;
  bool is_released_ = false;
  Site site_;
  std::uint64_t sequence_;  // grows with each node of a thread; a leaf's is the greatest
  std::vector<Edge> edges_;
  ResultInfo first_info_;
  std::vector<ResultInfo> further_infos_;
  std::vector<NodeHook> hooks_;
};

std::uint64_t next_sequence();
std::uint64_t next_hook_id();

// Where a gradient ends and is added up.
class LeafNode final : public Node {
 public:
  explicit LeafNode(const Tensor& t) : Node(Site{}, ~std::uint64_t{0}) { add_result(t); }
  std::string_view name() const override { return "leaf"; }
  std::vector<Tensor> run(std::vector<Tensor> grads) override;  // adds to `grad`
  bool is_leaf() const override { return true; }
  Tensor grad;
};

// What a tensor knows of its history; header()->autograd points at it, and the tensor owns it.
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
// The same, made if there is none, and brought up to date: after a write through another view of the same
// memory it is what that write left. Null where the tensor requires no gradient.
History* current_history(const Tensor& t);
History& make_history(const Tensor& t);
// The results of a node take it as their history.
void set_edge(const Tensor& result, Edge edge);
// `t`, which may be a view, was overwritten by what `node` computed.
void rewrite_history(const Tensor& t, NodePtr node);
// A view made by an op of a tensor that requires a gradient.
void set_view_edge(const Tensor& view, const Tensor& of, Edge edge);

}  // namespace pel::autograd

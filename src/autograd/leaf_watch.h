// What a capture sees of gradients: grad() of a leaf is state of the host, which a captured function must not
// change while it is captured.
#pragma once

#include "autograd/node.h"

namespace pel::autograd {

class LeafWatch {
 public:
  virtual ~LeafWatch() = default;
  // The gradient that stands for that of `leaf` meanwhile, for one who reads it first.
  virtual Tensor& gradient(LeafNode& leaf) = 0;
  virtual void set_gradient(LeafNode& leaf, const Tensor& grad) = 0;
  virtual void add_leaf(const Tensor& made, LeafNode& leaf) = 0;
  // Whether nobody else sees the memory of a tensor, which the capture itself holds.
  virtual bool is_own(const Tensor& tensor) const = 0;
  // Throws a CaptureError where the tensor is not the captured function's own: `what` it asks for would
  // happen once, and not at each call.
  virtual void check_is_inside(const Tensor& tensor, std::string_view what) const = 0;
};
LeafWatch*& thread_leaf_watch();  // null: none

// Leaves that autocast has cast are forgotten inside, and known again after it.
class SeparateCasts {
 public:
  SeparateCasts();
  ~SeparateCasts();
  SeparateCasts(const SeparateCasts&) = delete;
  SeparateCasts& operator=(const SeparateCasts&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace pel::autograd

// How a capture handles gradients of leaves: grad() is state of the host, which must not change while a
// function is captured.
#pragma once

#include "autograd/node.h"

namespace pel::autograd {

class LeafWatch {
 public:
  virtual ~LeafWatch() = default;
  // Returns the gradient that replaces that of `leaf` during the capture.
  virtual Tensor& gradient(LeafNode& leaf) = 0;
  virtual void set_gradient(LeafNode& leaf, const Tensor& grad) = 0;
  virtual void add_leaf(const Tensor& made, LeafNode& leaf) = 0;
  // Whether only the capture refers to the memory of a tensor.
  virtual bool is_own(const Tensor& tensor) const = 0;
  // Throws a CaptureError if the tensor was made outside of the captured function: `what` would happen once,
  // not at each call.
  virtual void check_is_inside(const Tensor& tensor, std::string_view what) const = 0;
};
LeafWatch*& thread_leaf_watch();  // null: none

// Hides the cached casts of autocast while in scope.
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

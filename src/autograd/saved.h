// Values that a node saves for backward, with a check that they were not written to in between.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pellucid/extend/value.h"

#include "autograd/node.h"

namespace pel::autograd {

// Computes saved values again instead of storing them. One for each region under checkpoint().
class Recompute {
 public:
  virtual ~Recompute() = default;
  virtual Tensor get(std::size_t number) = 0;  // by number, in the order in which the region saves them
};
// While set, it is called for each value that this thread's calls save.
class SaveHook {
 public:
  virtual ~SaveHook() = default;
  // Returns how to compute the value again, and its number; null: the value is stored as usual.
  virtual std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor& value) = 0;
};
SaveHook*& thread_save_hook();

class SavedValue {
 public:
  static SavedValue argument(Value value);
  // A copy of an argument that the call is about to overwrite.
  static SavedValue copy(const Tensor& value);
  // A result, without its history, which leads back to the node that saves it.
  static SavedValue result(const Tensor& value, std::uint32_t number);

  // Returns the value; fails if it was written to since. `node` is that of the call, `what` the name in its
  // schema.
  Value get(Node& node, std::string_view what) const;

 private:
  Tensor checked(const Tensor& t, std::uint32_t version, Node& node, std::string_view what) const;
  // Fields that few values need: most values are a tensor or a number.
  struct Rare {
    std::vector<std::uint32_t> versions;  // of a list
    std::shared_ptr<Recompute> recompute;
    std::size_t number = 0;  // for `recompute`
    Edge edge;               // of an argument that is computed again, or copied
  };
  bool is_computed_again() const { return rare_ && rare_->recompute; }
  bool offer_to_hook(const Tensor& t);  // true: the thread's hook computes it again
  Value value_;
  std::uint32_t version_ = 0;
  std::int32_t result_ = -1;  // its number, for a result
  std::unique_ptr<Rare> rare_;
};

}  // namespace pel::autograd

// What a node keeps of a call, and how a write to it in between is found out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pellucid/extend/value.h"

#include "autograd/node.h"

namespace pel::autograd {

// Instead of keeping values, remembers how to compute them again. One for each region under checkpoint().
class Recompute {
 public:
  virtual ~Recompute() = default;
  virtual Tensor get(std::size_t number) = 0;  // the value kept as number …, in the order of the region
};
// While it is set, values that this thread's calls keep are given to it.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // A place for the value; null: keep it as usual.
  virtual std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor& value) = 0;
};
Keeper*& thread_keeper();

class Kept {
 public:
  static Kept argument(Value value);
  // An argument that the call is about to overwrite.
  static Kept copy(const Tensor& value);
  // A result: without its history, which leads back to the node that keeps it.
  static Kept result(const Tensor& value, std::uint32_t number);

  // As it was: fails if it was written to since. `node` is that of the call, `what` the name in its schema.
  Value get(Node& node, std::string_view what) const;

 private:
  Tensor checked(const Tensor& t, std::uint32_t version, Node& node, std::string_view what) const;
  // What few values need: most are a tensor or a number.
  struct Rare {
    std::vector<std::uint32_t> versions;  // of a list
    std::shared_ptr<Recompute> recompute;
    std::size_t place = 0;
    Edge edge;  // of an argument that is computed again, or copied
  };
  bool is_computed_again() const { return rare_ && rare_->recompute; }
  bool put_away(const Tensor& t);  // with the thread's keeper, if there is one
  Value value_;
  std::uint32_t version_ = 0;
  std::int32_t result_ = -1;  // its number, for a result
  std::unique_ptr<Rare> rare_;
};

}  // namespace pel::autograd

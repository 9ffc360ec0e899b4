// Gradients of leaves are state beside inputs and outputs: a graph takes those that it reads behind its
// inputs, and gives those that it leaves behind its outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "compile/graph.h"

namespace pel::compiler {

// What an input is to gradients: results of calls have theirs from outside of the function.
enum class InputGradient : std::uint8_t { None, Leaf, Inner };
InputGradient gradient_kind(const Tensor& input);

struct LeafGradient {
  enum class AtBegin : std::uint8_t { Unread, Undefined, Read };  // Read: an input of the graph
  enum class AtEnd : std::uint8_t { Kept, Cleared, Set };         // Set: an output of the graph
  autograd::NodePtr leaf;                                         // null: of an input
  std::uint32_t input = 0;
  AtBegin at_begin = AtBegin::Unread;
  AtEnd at_end = AtEnd::Kept;

  autograd::LeafNode& in(ArrayView<Tensor> inputs) const;
};

struct LeafGradients {
  std::vector<LeafGradient> list;
  // Tensors that the function holds, and the leaf that each was; null: it required no gradient. Empty where
  // no gradient could be recorded.
  std::vector<std::pair<Tensor, const autograd::Node*>> held;

  // Whether gradients are there as when the graph was captured; in words where not.
  bool fit(ArrayView<Tensor> inputs, std::string* reason = nullptr) const;
  std::vector<Tensor> read(ArrayView<Tensor> inputs) const;  // those that the graph takes
  std::vector<Tensor> after(ArrayView<Tensor> inputs) const;  // the inputs of the graph: these, then read()
  // Lets go of those that the graph does not take and will replace: their memory is free for the run.
  void release(ArrayView<Tensor> inputs) const;
  // Takes them off the end of what the graph gave.
  void store(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const;
  bool operator==(const LeafGradients& other) const;
};

}  // namespace pel::compiler

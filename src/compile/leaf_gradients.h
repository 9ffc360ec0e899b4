// Gradients of leaves are state besides inputs and outputs: the gradients that a graph reads are inputs after
// those of the function, and the gradients that it sets are outputs after those of the function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/node.h"
#include "compile/graph.h"

namespace pel::compiler {

// Inner: the input is the result of calls outside the function.
enum class InputGradient : std::uint8_t { None, Leaf, Inner };
InputGradient gradient_kind(const Tensor& input);
std::string_view gradient_words(InputGradient kind);  // "requires a gradient"

struct LeafGradient {
  enum class AtBegin : std::uint8_t { Unread, Undefined, Read };  // Read: an input of the graph
  enum class AtEnd : std::uint8_t { Kept, Cleared, Set };         // Set: an output of the graph
  autograd::NodePtr leaf;                                         // null: the leaf is an input
  std::uint32_t input = 0;
  AtBegin at_begin = AtBegin::Unread;
  AtEnd at_end = AtEnd::Kept;

  autograd::LeafNode& in(ArrayView<Tensor> inputs) const;
};

struct LeafGradients {
  std::vector<LeafGradient> list;
  // Tensors that the function captures by reference, and the leaf of each; null: it required no gradient.
  // Empty if no gradient could be recorded.
  std::vector<std::pair<Tensor, const autograd::Node*>> held;

  // Whether the same leaves have gradients as when the graph was captured; if not, `reason` says which
  // differ.
  bool fit(ArrayView<Tensor> inputs, std::string* reason = nullptr) const;
  std::vector<Tensor> read(ArrayView<Tensor> inputs) const;   // the gradients that are inputs of the graph
  std::vector<Tensor> after(ArrayView<Tensor> inputs) const;  // the inputs of the graph: these, then read()
  // Drops the gradients that the graph replaces without reading them: the run can reuse their memory.
  void release(ArrayView<Tensor> inputs) const;
  // Moves the gradients from the end of the graph's outputs to their leaves.
  void store(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const;
  bool operator==(const LeafGradients& other) const;
};

}  // namespace pel::compiler

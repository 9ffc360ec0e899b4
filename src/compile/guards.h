// What a captured graph is specialised on, and whether a call fits it: ranks, dtypes, devices, layouts,
// inputs that are one tensor, and what was compared. Never a size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/graph.h"
#include "compile/leaf_gradients.h"

namespace pel::compiler {

// How an input lies in memory. Strides of axes of size 1 choose between orders, where they are those of a
// dense tensor; else they say nothing.
struct InputLayout {
  std::vector<std::uint32_t> order;     // axes from the longest stride to the shortest
  bool is_dense = false;                // in that order, without a gap; else every stride is a symbol
  std::vector<std::uint32_t> repeated;  // axes of stride 0, which is no symbol
  bool operator==(const InputLayout&) const = default;
};
InputLayout layout_of(const Tensor& tensor);
// Whether a tensor could have been captured with this layout.
bool fits_layout(const Tensor& tensor, const InputLayout& layout);

struct InputClass {
  DType dtype = DType::F32;
  Device device;
  InputLayout layout;
  std::optional<std::uint32_t> same_as;  // an earlier input that is the same tensor
  InputGradient gradient = InputGradient::None;
};

std::string words_of(const SymbolSource& source);  // "axis 1 of input 0"
// "axis 1 of input 0 must be 512"
std::string words_of(const Graph& graph, const SizeGuard& guard);

struct Guards {
  std::vector<InputClass> inputs;  // and behind them gradients that the graph reads

  // The values of the graph's symbols for this call, or none and, where asked for, the guard that fails in
  // words.
  std::optional<std::vector<std::int64_t>> match(const Graph& graph, ArrayView<Tensor> inputs,
                                                 std::string* reason = nullptr) const;
};

}  // namespace pel::compiler

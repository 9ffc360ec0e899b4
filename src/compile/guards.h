// What a captured graph is specialised on, and whether a call fits it: ranks, dtypes, devices, layouts,
// inputs that are the same tensor, and comparisons of sizes. Never a size itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/graph.h"
#include "compile/leaf_gradients.h"

namespace pel::compiler {

// The layout of an input in memory. Strides of axes of size 1 decide between several orders if they are those
// of a dense tensor; otherwise they are ignored.
struct InputLayout {
  std::vector<std::uint32_t> order;     // axes from the longest stride to the shortest
  bool is_dense = false;                // in that order, without gaps; otherwise every stride is a symbol
  std::vector<std::uint32_t> repeated;  // axes of stride 0, which is not a symbol
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
  bool is_described = false;  // calls pass its memory alone
};

std::vector<std::size_t> symbols_in(const std::string& text);  // of "4*s0 + s12": 0 and 12
std::string words_of(const SymbolSource& source);              // "axis 1 of input 0"
// "axis 1 of input 0 must be 512"
std::string words_of(const Graph& graph, const SizeGuard& guard);

struct Guards {
  std::vector<InputClass> inputs;  // followed by the gradients that the graph reads

  // Returns the values of the graph's symbols for this call. If a guard fails, returns none, and says which
  // one in `reason`.
  std::optional<std::vector<std::int64_t>> match(const Graph& graph, ArrayView<Tensor> inputs,
                                                 std::string* reason = nullptr) const;
  // Whether values of the symbols pass the comparisons of sizes; the rest of match().
  static bool sizes_fit(const Graph& graph, const std::vector<std::int64_t>& symbols,
                        std::string* reason = nullptr);
};

}  // namespace pel::compiler

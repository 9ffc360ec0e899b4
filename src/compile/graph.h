// A captured function: ops in the order in which they ran, over values that have dtype, sizes and strides.
// Sizes are expressions over the symbols of the inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pellucid/extend/op.h"

#include "base/call_stack.h"
#include "base/small_vector.h"
#include "ir/symbolic_sizes.h"

namespace pel::compiler {

struct ValueId {
  std::uint32_t number = 0;
  bool operator==(const ValueId&) const = default;
};

// A tensor of the function. Views of one memory have the same storage number.
struct GraphValue {
  enum class Origin : std::uint8_t { Input, Constant, Node };
  Origin origin = Origin::Node;
  DType dtype = DType::F32;
  Device device;
  std::vector<Dim> sizes, strides;  // strides in elements
  bool is_row_major = false;
  std::uint32_t storage = 0;
};

// As Value (value.h), with values of the graph instead of tensors. A Scalar instead of a tensor is a number
// that the caller passed there, as the 2 of mul(x, 2).
using GraphArg = std::variant<std::monostate, ValueId, std::vector<ValueId>, Dim, double, bool, Scalar, DType,
                              Device, std::vector<Dim>, std::string>;

enum class NodeKind : std::uint8_t {
  Call,              // of one op
  FusedElementwise,  // calls that are one elementwise loop
  FusedRows,         // row reductions, with elementwise calls before and after them
  FusedGemm,         // one matmul or two, views of their results, and elementwise calls over them
};

// How names of fused nodes begin, as those of torch.compile do: poi_fused_, red_fused_, gemm_fused_. Empty
// for a call.
std::string_view fused_prefix(NodeKind kind);

// One call, or several that are fused. An op that writes to an argument has that argument's value as its
// result too.
struct GraphNode {
  const Op* op = nullptr;
  std::vector<GraphArg> args;
  std::vector<GraphArg> results;  // values and lists of them
  UserCall site{};
  NodeKind kind = NodeKind::Call;

  // A fused node has no op but a name, and the calls that it computes. Its arguments and results are values;
  // other values that its body produces are seen by the body alone.
  std::string name{};
  std::vector<GraphNode> body{};
  bool is_fused() const { return kind != NodeKind::Call; }
  std::string_view label() const { return is_fused() ? std::string_view(name) : op->name(); }
};

// Where the value of a symbol is read from when a graph runs.
struct SymbolSource {
  enum class What : std::uint8_t { Size, Stride, Number };
  What what = What::Size;
  std::uint32_t input = 0, axis = 0;
  std::string name{};  // of a number that calls pass
};

struct Graph {
  std::shared_ptr<SymbolicSizes> sizes;
  std::vector<SymbolSource> symbols;  // s0, s1, …
  std::vector<GraphValue> values;
  std::vector<ValueId> inputs;    // a tensor that was passed twice is listed twice
  std::vector<Tensor> constants;  // tensors that the function holds itself, such as weights
  std::vector<ValueId> constant_values;
  std::vector<GraphNode> nodes;
  std::vector<ValueId> outputs;
  // By node, the first one that is alike (node_content.h): set when the passes have run.
  std::vector<std::uint32_t> alike{};

  const GraphValue& operator[](ValueId id) const { return values[id.number]; }
};

// f(id) for each value that an argument or a result names.
template <class F>
void for_values(const GraphArg& arg, F&& f) {
  if (const ValueId* id = std::get_if<ValueId>(&arg)) f(*id);
  if (const auto* ids = std::get_if<std::vector<ValueId>>(&arg))
    for (const ValueId id : *ids) f(id);
}

// Values that arguments or results name, in their order.
using ValueList = SmallVector<ValueId, 16>;
inline ValueList values_in(const std::vector<GraphArg>& args) {
  ValueList values;
  for (const GraphArg& arg : args) for_values(arg, [&](ValueId id) { values.push_back(id); });
  return values;
}

bool has_value(const std::vector<GraphArg>& args, ValueId id);

// As in the text of a graph. Numbers are exact and 1, 1.0 and true differ: equal texts are equal arguments.
std::string to_string(const GraphArg& arg, const SymbolicSizes& sizes);

// Throws InternalError with the node and the rule: values are produced before they are used and by one node
// alone, arguments have the types of the schema, an input has its symbols.
void verify(const Graph& graph);

// graph(%0: f32[s0, s1]) {
//   guard s1 == 4  # weight of linear at model.cc:12
//   %2 = t(%1) : f32[4, 8] strides [1, 4]  # model.cc:12 linear > t
//   %4 = poi_fused_add_relu_0(%2) : f32[4, 8] {
//     %3 = add(%2, 1) : f32[4, 8]  # model.cc:13
//     …
//   }
//   return %3
// }
std::string to_string(const Graph& graph);
std::string inputs_text(const Graph& graph);  // "(%0: f32[s0, s1])"

}  // namespace pel::compiler

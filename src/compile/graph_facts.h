// What passes ask about a graph: who produces and consumes each value, and what each call would launch.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compile/graph.h"
#include "compile/node_content.h"
#include "compile/row_calls.h"

namespace pel::compiler {

// Producers, consumers and storages of a graph as it is now: one walk over the nodes, without running ops.
struct GraphUses {
  explicit GraphUses(const Graph& graph);

  struct Storage {
    bool is_callers = false;   // memory of an input or a constant
    bool is_returned = false;  // a result of the function lies in it
    bool is_written = false;   // some call writes to it
    std::size_t values = 0;    // how many share it
    ValueId last;              // the one with the highest number: its latest version, if there are versions
  };
  // By value. A value that nodes write to has the first node as its producer; each consumer is listed once.
  std::vector<std::optional<std::size_t>> producer;
  std::vector<std::vector<std::size_t>> consumers;
  std::vector<bool> is_output;
  std::vector<Storage> storages;
};

// What one call would launch at the sizes of the captured call. It depends on the op, the descriptions of its
// arguments and the symbols alone, so that calls with equal ones share it: layers of a model are alike.
struct CallFacts {
  bool launches_nothing = false;  // a view, or new memory
  bool counts_flops = false;      // a matmul, a convolution, attention
  std::vector<LoopPart> parts;
  // Over positions instead of values: see GraphFacts::bound.
  std::optional<FusedCall> call;
};

// Facts of calls, each found by one run of its op over tensors without data. They are found by content, so
// passes that move, copy or rename nodes need not update anything. Serves one graph and its rewritten copies.
class GraphFacts {
 public:
  GraphFacts() = default;
  GraphFacts(const GraphFacts&) = delete;
  GraphFacts& operator=(const GraphFacts&) = delete;

  // Of a call; not for fused nodes. The reference stays valid.
  const CallFacts& of(const Graph& graph, const GraphNode& node);
  // What the call computes, over the values of the node; none if it is not one elementwise loop.
  std::optional<ElementwiseCall> elementwise_call(const Graph& graph, const GraphNode& node);
  // The same for elementwise loops and row kernels.
  std::optional<FusedCall> fused_call(const Graph& graph, const GraphNode& node);

  std::size_t runs() const { return facts_.size(); }  // of ops

 private:
  std::unordered_map<ContentWords, CallFacts, ContentHash> facts_;
};

// Whether a backend compiles fused loops: that of the device, or of some value of the graph.
bool compiles_loops(Device device);
bool compiles_loops(const Graph& graph);

}  // namespace pel::compiler

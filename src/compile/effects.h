// Side effects of calls: passes may move or drop only calls without any.
#pragma once

#include <vector>

#include "compile/graph.h"
#include "dispatch/record.h"

namespace pel::compiler {

bool writes(const GraphNode& node);        // to one of its arguments
bool draws_random(const GraphNode& node);  // and so advances the generator
bool communicates(
    const GraphNode& node);  // with other processes, which make the same calls in the same order
// Names a stream of random numbers in the arguments of such an op, unless one is named: then it draws from
// that, and the generator does not advance. `args` are GraphArgs or Values.
template <class Args>
void name_stream(const Op& op, Args& args) {
  const auto& schema = op.record().schema.args;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if ((schema[i].name == "seed" || schema[i].name == "offset") &&
        std::holds_alternative<std::monostate>(args[i]))
      args[i] = Scalar(0);
  }
}
// Of a fused node, those of its arguments that its calls write to.
std::vector<ValueId> written_values(const GraphNode& node);
// Whether the write to `written` produces a value of its own, which later calls read (name_versions).
bool is_named(const Graph& graph, const GraphNode& node, ValueId written);

// For each storage, whether some call of the graph writes to it.
std::vector<bool> written_storages(const Graph& graph);

}  // namespace pel::compiler

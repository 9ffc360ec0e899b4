#include "compile/explanation/explain.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profile/kernel_span.h"

namespace pel::compiler {
namespace {

using Explained = CompileExplanation;

class GraphExplanation {
 public:
  GraphExplanation(const CompiledGraph& compiled, const Plan& plan, const std::vector<std::int64_t>& symbols,
                   ArrayView<Tensor> inputs)
      : compiled_(compiled), graph_(compiled.graph), plan_(plan), symbols_(symbols), inputs_(inputs) {}

  Explained::Graph run() {
    for (std::size_t i = 0; i < graph_.symbols.size(); ++i)
      made_.symbols.push_back({fmt::format("s{}", i), words_of(graph_.symbols[i]), symbols_[i]});
    add_guards();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) add_input(i);
    for (const PlannedKernel& kernel : plan_.planned_kernels(inputs_)) add_kernel(kernel);
    add_flow(plan_.data_flow(graph_));
    for (const Decision& d : compiled_.why.decisions) {
      auto& list = d.kind == Decision::Kind::Refused ? made_.not_fused : made_.decisions;
      list.push_back({d.pass, d.what, d.reason, d.site.text()});
    }
    if (const auto replay = plan_.replay())
      made_.decisions.push_back({"replay", replay->first, replay->second, ""});
    made_.thread_count = plan_.knows_threads() ? thread_count() : 0;
    made_.arena_bytes = plan_.arena_bytes();
    made_.result_bytes = plan_.result_bytes();
    for (const Plan::PackedWeight& weight : plan_.packed_weights(inputs_))
      made_.packed_weights.push_back({fmt::format("%{}", weight.value.number), type_of(weight.value),
                                      weight.state.bytes, weight.state.since_call, weight.state.reason});
    const std::int64_t packing_bytes = plan_.packing_bytes(inputs_);
    made_.peak_bytes = plan_.peak_bytes() + packing_bytes;
    made_.peak_bytes_of_all = plan_.peak_bytes_of_all() + packing_bytes;
    return std::move(made_);
  }

 private:
  void add_guards() {
    for (const SizeGuard& guard : graph_.sizes->guards()) {
      const std::string condition = graph_.sizes->text(guard);
      guard_symbols_.push_back(symbols_in(condition));
      made_.guards.push_back({condition, words_of(graph_, guard), guard.source});
    }
  }

  std::size_t first_gradient() const {
    const auto is_read = [](const LeafGradient& g) { return g.at_begin == LeafGradient::AtBegin::Read; };
    return graph_.inputs.size() -
           static_cast<std::size_t>(std::ranges::count_if(compiled_.gradients.list, is_read));
  }

  std::string dim_text(Dim dim) const {
    return dim.is_symbolic() ? graph_.sizes->text(dim) : std::to_string(dim.value());
  }
  std::string type_of(ValueId id) const {
    const GraphValue& value = graph_[id];
    std::vector<std::string> sizes;
    for (const Dim size : value.sizes) sizes.push_back(dim_text(size));
    return fmt::format("{}[{}]", name(value.dtype), fmt::join(sizes, ", "));
  }

  void add_input(std::size_t number) {
    Explained::Input& input = made_.inputs.emplace_back();
    const ValueId id = graph_.inputs[number];
    input.type = type_of(id);
    std::vector<std::string> said;
    if (number >= first_gradient()) said.emplace_back("the gradient of a leaf before the call");
    for (std::size_t axis = 0; axis < graph_[id].sizes.size(); ++axis) {
      Explained::Axis& a = input.axes.emplace_back();
      a.size = dim_text(graph_[id].sizes[axis]);
      for (const std::size_t symbol : symbols_in(a.size)) {
        for (std::size_t g = 0; g < guard_symbols_.size(); ++g)
          if (std::ranges::find(guard_symbols_[g], symbol) != guard_symbols_[g].end()) a.guards.push_back(g);
      }
      if (a.guards.empty()) {
        said.push_back(graph_[id].sizes[axis].is_symbolic() ? fmt::format("axis {} may have any size", axis)
                                                            : fmt::format("axis {} is {}", axis, a.size));
        continue;
      }
      std::vector<std::string> conditions;
      for (const std::size_t g : a.guards) conditions.push_back(made_.guards[g].condition);
      said.push_back(
          fmt::format("axis {}, {}, must satisfy {}", axis, a.size, fmt::join(conditions, " and ")));
    }
    const InputClass& kind = compiled_.guards.inputs[number];
    if (kind.same_as) said.push_back(fmt::format("it must be the same tensor as input {}", *kind.same_as));
    const std::string_view what = compiled_.is_of_file ? "is refused" : "compiles again";
    said.push_back(kind.is_described
                       ? "its dtype and strides are those that were described"
                       : fmt::format("another dtype, rank, device or order of strides {}{}", what,
                                     kind.layout.is_dense   ? ""
                                     : compiled_.is_of_file ? ", and so is a dense tensor"
                                                            : ", and so does a dense tensor"));
    input.forecast = fmt::format("{}", fmt::join(said, "; "));
  }

  Explained::Call call_of(const GraphNode& node) const {
    std::vector<std::string> args, results;
    for (const GraphArg& arg : node.args) args.push_back(to_string(arg, *graph_.sizes));
    for (const GraphArg& result : node.results) results.push_back(to_string(result, *graph_.sizes));
    return {fmt::format("{}{}{}({})", fmt::join(results, ", "), results.empty() ? "" : " = ", node.label(),
                        fmt::join(args, ", ")),
            node.site.text()};
  }

  Explained::Value value_of(ValueId id) const {
    const GraphValue& value = graph_[id];
    std::int64_t factor = size_bytes(value.dtype), bytes = factor;
    std::string symbolic;
    for (const Dim size : value.sizes) {
      bytes *= graph_.sizes->evaluate(size, symbols_);
      if (!size.is_symbolic()) {
        factor *= size.value();
        continue;
      }
      const std::string text = dim_text(size);
      symbolic += text.find(' ') == std::string::npos ? "*" + text : fmt::format("*({})", text);
    }
    return {fmt::format("%{}", id.number), type_of(id), std::to_string(factor) + symbolic, bytes};
  }

  void add_kernel(const PlannedKernel& planned) {
    const GraphNode& node = graph_.nodes[planned.node];
    Explained::Kernel& kernel = made_.kernels.emplace_back();
    kernel.name = planned.name;
    kernel.bytes_read = planned.bytes_read;
    kernel.bytes_written = planned.bytes_written;
    kernel.reason = planned.reason;
    kernel.threads = planned.threads;
    kernel.predicted_ns = planned.predicted_ns;
    if (!node.is_fused() || !planned.is_whole_node) {
      kernel.calls.push_back(call_of(node));
      return;
    }
    std::set<std::uint32_t> storages;  // views of a value are not written either, and count once
    for (const GraphNode& inner : node.body) {
      kernel.calls.push_back(call_of(inner));
      for (const GraphArg& result : inner.results) {
        for_values(result, [&](ValueId id) {
          const bool is_given = std::ranges::any_of(
              node.results, [&](const GraphArg& given) { return std::get<ValueId>(given) == id; });
          if (!is_given && storages.insert(graph_[id].storage).second) kernel.saved.push_back(value_of(id));
        });
      }
    }
  }

  // Values have their type in the graph. Others have none there: their type has the sizes of this plan.
  Explained::Operand operand_of(const FlowOperand& flow) const {
    Explained::Operand made{.name = {},
                            .type = {},
                            .bytes = 0,
                            .from = flow.from,
                            .number = flow.number,
                            .output = flow.output,
                            .parts = flow.parts};
    if (flow.operand != nullptr) {
      const Operand& operand = *flow.operand;
      made.bytes = profile::bytes_addressed(operand);
      made.type = fmt::format("{}[{}]", name(static_cast<DType>(operand.dtype)),
                              fmt::join(operand.sizes, operand.sizes + operand.rank, ", "));
    }
    if (!flow.value) return made;
    const Explained::Value value = value_of(*flow.value);
    made.name = value.name;
    made.type = value.type;
    if (flow.operand == nullptr) made.bytes = static_cast<std::uint64_t>(value.bytes);
    return made;
  }

  void add_flow(const DataFlow& flow) {
    for (std::size_t k = 0; k < flow.steps.size(); ++k) {
      for (const FlowOperand& read : flow.steps[k].reads) made_.kernels[k].reads.push_back(operand_of(read));
      for (const FlowOperand& written : flow.steps[k].writes)
        made_.kernels[k].writes.push_back(operand_of(written));
    }
    for (const FlowOperand& result : flow.results) made_.results.push_back(operand_of(result));
  }

  const CompiledGraph& compiled_;
  const Graph& graph_;
  const Plan& plan_;
  const std::vector<std::int64_t>& symbols_;
  const ArrayView<Tensor> inputs_;
  Explained::Graph made_;
  std::vector<std::vector<std::size_t>> guard_symbols_;
};

}  // namespace

CompileExplanation::Graph explain(const CompiledGraph& compiled, const Plan& plan,
                                  const std::vector<std::int64_t>& symbols, ArrayView<Tensor> inputs) {
  return GraphExplanation(compiled, plan, symbols, inputs).run();
}

}  // namespace pel::compiler

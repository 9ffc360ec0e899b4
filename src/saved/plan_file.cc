#include "saved/plan_file.h"

#include <algorithm>

#include "saved/graph_fields.h"

namespace pel::saved {
namespace {

template <class F>
void fields(F& f, Field<F, SavedMemory> memory) {
  f.wide(memory.bytes);
  f.flag(memory.is_written);
  f.optional(memory.section, [&](auto& section) { f.number(section); });
  f.text(memory.file);
  f.text(memory.tensor);
  f.wide(memory.checksum);
}

template <class F>
void fields(F& f, Field<F, SavedConstant> constant, std::size_t memories) {
  f.index(constant.memory, memories);
  fields(f, constant.dtype);
  f.list(constant.sizes, [&](auto& size) { f.wide(size); });
  f.list(constant.strides, [&](auto& stride) { f.wide(stride); });
  f.wide(constant.offset);
}

template <class F>
void fields(F& f, Field<F, PlanFile> plan) {
  f.list(plan.memories, [&](auto& memory) { fields(f, memory); });
  f.list(plan.graphs, [&](auto& graph) {
    fields(f, graph.graph);
    f.list(graph.constants, [&](auto& constant) { fields(f, constant, plan.memories.size()); });
    f.list(graph.code, [&](auto& code) {
      f.text(code.isa);
      f.number(code.section);
    });
    f.list(graph.guards.inputs, [&](auto& input) { fields(f, input); });
    f.wide(graph.modes);
    f.list(graph.why.decisions, [&](auto& decision) { fields(f, decision); });
  });
}

constexpr std::uint32_t kMaxStorages = 1 << 24;

// What the code that matches guards relies on, besides what verify() checks.
void check(const SavedGraph& saved) {
  const compiler::Graph& graph = saved.graph;
  FieldReader::check(saved.constants.size() == graph.constant_values.size(), "its constants");
  FieldReader::check(saved.guards.inputs.size() == graph.inputs.size(), "the guards of its inputs");
  FieldReader::check(graph.symbols.size() == graph.sizes->hints().size(), "its symbols");
  for (const compiler::GraphValue& value : graph.values)
    FieldReader::check(value.storage < kMaxStorages, "the storage of a value");
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const compiler::InputClass& input = saved.guards.inputs[i];
    const std::size_t rank = graph[graph.inputs[i]].sizes.size();
    const auto is_axis = [&](std::uint32_t axis) { return axis < rank; };
    FieldReader::check(
        input.layout.order.size() == rank && std::ranges::all_of(input.layout.order, is_axis) &&
            std::ranges::all_of(input.layout.repeated, is_axis) && input.same_as.value_or(0) <= i,
        "the layout of an input");
  }
}

}  // namespace

std::string to_bytes(const PlanFile& plan) {
  FieldWriter writer;
  fields(writer, plan);
  return std::move(writer).bytes();
}

PlanFile plan_from(std::string_view bytes) {
  FieldReader reader(bytes);
  PlanFile plan;
  fields(reader, plan);
  FieldReader::check(reader.is_at_end(), "it goes on after its end");
  for (const SavedGraph& saved : plan.graphs) check(saved);
  return plan;
}

}  // namespace pel::saved

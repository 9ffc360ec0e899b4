#include "compile/row_calls.h"

#include <algorithm>

#include "compile/effects.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// Whether `shown` is `t` repeated to its sizes.
bool repeats(const Tensor& t, const Tensor& shown) {
  const std::size_t rank = shown.sizes().size(), own = t.sizes().size();
  if (own > rank || !t.shares_storage(shown) || t.storage_offset() != shown.storage_offset() ||
      t.dtype() != shown.dtype())
    return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_new = axis + own < rank;
    const Dim size = is_new ? Dim(1) : t.sizes()[axis + own - rank];
    const Dim stride = is_new ? Dim(0) : t.strides()[axis + own - rank];
    if (size == shown.sizes()[axis] ? size != 1 && stride != shown.strides()[axis]
                                    : size != 1 || shown.strides()[axis] != 0)
      return false;
  }
  return true;
}

// What the values broadcast to: of two sizes that are not known to be equal, the one that may be more than 1.
std::optional<std::vector<Dim>> broadcast_sizes_of(const Graph& graph, const std::vector<ValueId>& values) {
  const auto equal = [&](Dim a, Dim b) { return graph.sizes->is_known_equal(a, b); };
  std::vector<Dim> sizes;
  for (const ValueId id : values) {
    const std::vector<Dim>& own = graph[id].sizes;
    if (own.size() > sizes.size()) sizes.insert(sizes.begin(), own.size() - sizes.size(), Dim(1));
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      Dim& size = sizes[axis + sizes.size() - own.size()];
      if (equal(own[axis], size) || equal(own[axis], 1)) continue;
      if (!equal(size, 1)) return std::nullopt;
      size = own[axis];
    }
  }
  return sizes;
}

bool has_sizes(const Tensor& t, const std::vector<Dim>& sizes) {
  return std::ranges::equal(t.sizes(), sizes);
}

bool are_neighbours_of_different_rows(const Tensor& first, std::uint64_t reduced) {
  constexpr std::int64_t kFewest = 8;
  std::optional<std::int64_t> inside, across;
  for (std::size_t axis = first.sizes().size(); axis-- > 0;) {
    const std::int64_t size = first.sizes()[axis].value(), stride = first.strides()[axis].value();
    if (size == 1 || stride == 0) continue;
    if (reduced >> axis & 1) {
      if (!inside) inside = stride;
    } else if (size >= kFewest) {
      across = std::min(across.value_or(stride), stride);
    }
  }
  return inside && across && *across < *inside;
}

}  // namespace

std::optional<RowCall> row_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                   FakeRun& run) {
  if (node.is_fused() || draws_random(node) || writes(node) || launches.size() != 1) return std::nullopt;
  const RecordedLaunch& launch = launches[0];
  if (launch.op->rows() == nullptr || !launch.computation || launch.numbers.empty()) return std::nullopt;
  RowCall call;
  call.program = &launch.op->rows()->programs[launch.computation->formula];
  call.compute = launch.computation->dtype;
  call.reduced = static_cast<std::uint64_t>(launch.numbers[0].as_int);
  call.is_by_columns = are_neighbours_of_different_rows(launch.inputs[0], call.reduced);
  const std::vector<Dim> sizes = launch.inputs[0].sizes().vec();
  std::vector<Dim> with_ones, without;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool is_reduced = call.reduced >> axis & 1;
    with_ones.push_back(is_reduced ? Dim(1) : sizes[axis]);
    if (!is_reduced) without.push_back(sizes[axis]);
  }
  for (const Tensor& input : launch.inputs) {
    std::optional<ValueId> value;
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        if (!value && repeats(run[id], input)) value = id;
      });
    }
    if (!value) return std::nullopt;
    call.inputs.push_back(*value);
  }
  // A kernel over rows broadcasts its operands, and what no formula reads may have any sizes.
  bool reads_all = true;
  for (const GraphArg& arg : node.args) {
    for_values(arg, [&](ValueId id) {
      reads_all = reads_all && std::ranges::find(call.inputs, id) != call.inputs.end();
    });
  }
  if (!reads_all) return std::nullopt;
  const auto known = broadcast_sizes_of(run.graph(), call.inputs);
  if (!known || !std::ranges::equal(*known, sizes, {}, [&](Dim size) { return run.number(size); }))
    return std::nullopt;
  call.sizes = *known;
  for (std::size_t o = 0; o < launch.outputs.size(); ++o) {
    const Tensor& output = launch.outputs[o];
    const bool is_row = call.program->outputs[o].kind == RowOutput::Kind::Row;
    std::optional<ValueId>& value = call.outputs.emplace_back();
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        const Tensor& t = run[id];
        const bool is_it = is_row
                               ? t.is_same(output)
                               : t.shares_storage(output) && t.storage_offset() == output.storage_offset() &&
                                     (has_sizes(t, with_ones) || has_sizes(t, without));
        if (is_it) value = id;
      });
    }
  }
  // What else the call gives is nothing that the kernel writes.
  for (const GraphArg& result : node.results) {
    bool is_written = true;
    for_values(result, [&](ValueId id) {
      is_written = is_written && std::ranges::find(call.outputs, std::optional(id)) != call.outputs.end();
    });
    if (!is_written) return std::nullopt;
  }
  return call;
}

std::optional<FusedCall> fused_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                       FakeRun& run) {
  if (std::optional<LoopCall> loop = loop_of(node, launches, run)) return *std::move(loop);
  if (std::optional<RowCall> rows = row_call_of(node, launches, run)) return *std::move(rows);
  return std::nullopt;
}

RowOperands row_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches, FakeRun& run) {
  RowOperands made;
  const auto first = std::ranges::find_if(
      launches, [](const RecordedLaunch& l) { return l.op->rows() != nullptr && l.computation; });
  const Dims sizes = first->inputs[0].sizes();
  const auto reduced = static_cast<std::uint64_t>(first->numbers[0].as_int);
  made.numbers.push_back(first->numbers[0]);
  for (const RecordedLaunch& launch : launches) {
    const std::vector<PelScalar> own = loop_numbers(launch);
    made.numbers.insert(made.numbers.end(), own.begin(), own.end());
  }
  for (const GraphArg& arg : fused.args)
    made.inputs.push_back(broadcast_view(run[std::get<ValueId>(arg)], sizes));
  for (const GraphArg& result : fused.results) {
    const Tensor& t = run[std::get<ValueId>(result)];
    if (std::ranges::equal(t.sizes(), sizes)) {
      made.outputs.push_back(t);
      continue;
    }
    // One element a row: it repeats along the row.
    DimVector kept, strides;
    const bool has_all = t.sizes().size() == sizes.size();
    for (std::size_t axis = 0, own = 0; axis < sizes.size(); ++axis) {
      const bool is_reduced = reduced >> axis & 1;
      kept.push_back(is_reduced ? Dim(1) : sizes[axis]);
      strides.push_back(is_reduced ? Dim(0) : t.strides()[own]);
      own += !is_reduced || has_all ? 1 : 0;
    }
    made.outputs.push_back(make_view(t, kept, strides, t.storage_offset()));
  }
  return made;
}

}  // namespace pel::compiler

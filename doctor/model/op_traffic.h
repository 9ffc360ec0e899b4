// What an op reads and writes, and whether the next op reads its result: from shapes alone, because traces
// have no tensors.
#pragma once

#include <optional>
#include <vector>

#include "doctor/model/op_cost.h"
#include "doctor/names/kernel_name.h"

namespace pel::doctor {

struct Operand {
  Sizes sizes, strides;  // no strides: not known
};

struct Traffic {
  Sizes result;          // what the inputs broadcast to; of a reduction: what it reduces
  Sizes result_strides;  // where they are known
  bool reduces = false;  // then what it writes is small compared with what it reads, and counts as nothing
  double read_bytes = 0, written_bytes = 0;
  std::vector<Operand> inputs{};
};

// Of an op whose activity is of `family`. None: the trace has no shapes of it.
std::optional<Traffic> traffic_of(const Model& model, EventId op, KernelFamily family);

// What an op of PyTorch reads and writes, each operand once: of an elementwise op or copy, a norm, softmax or
// reduction. None: the trace has no shapes of it, or they do not say it; an embedding reads some rows of its
// table.
std::optional<std::int64_t> bytes_moved(const Model& model, EventId op, KernelFamily family);

// How many inputs of `next` may be the result of `last`.
std::ptrdiff_t times_taken(const Traffic& last, const Traffic& next);

// A matmul, one of which may be `result` in another shape.
bool may_read(const MatmulSizes& matmul, const Sizes& result);

}  // namespace pel::doctor

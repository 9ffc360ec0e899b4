// An iteration over elements that are in order in one operand, the plain one, and at positions from index
// tensors in another, the indexed one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pellucid/extend/kernel_args.h"

#include "base/small_vector.h"

namespace pel::cpu {

// An index tensor: each of its elements selects one of `size` positions, `step` bytes apart.
struct IndexedAxis {
  const char* data;
  std::int64_t size, step;
  std::int64_t axis;  // of the indexed operand, for errors
};

struct WalkAxis {
  std::int64_t size, plain_step, indexed_step;  // steps in bytes
  // Whether two of its elements may have the same target. When writing, such axes stay on one thread and in
  // order.
  bool collides;
};

struct IndexedWalk {
  char *plain, *indexed;
  bool index_is_i32, wraps;  // wraps: negative indices count from the end
  bool is_empty = false;
  SmallVector<IndexedAxis, 4> indices{};
  SmallVector<WalkAxis, 8> axes{};              // outermost first; without axes of size 1
  SmallVector<std::int64_t, 32> index_steps{};  // in bytes; for each axis, one per index

  // Call after all indices are added. Merges the axis with the previous one if the steps permit it.
  void add_axis(const WalkAxis& axis, const std::int64_t* steps);
  const std::int64_t* steps_of(std::size_t axis) const { return index_steps.data() + axis * indices.size(); }
};

// result[i][j] = indexed[index[i][j]][j], where `dim` is 0. The sizes are those of the index.
IndexedWalk make_gather_walk(const Operand& plain, const Operand& indexed, const Operand& index,
                             std::int64_t dim, bool wraps);
// The axes of `indexed` that `dims` names are replaced by those of the indices, which all have the same
// sizes. They come after `before` of the remaining axes.
IndexedWalk make_index_walk(const Operand& plain, const Operand& indexed, const Operand* indices,
                            const PelScalar* dims, std::size_t count, std::int64_t before, bool wraps);

// Returns the axis to split among threads, or -1.
enum class Divide : bool { AnyAxis, AxesWithoutCollisions };
int axis_to_divide(const IndexedWalk& walk, Divide divide);

[[noreturn, gnu::cold]] void throw_out_of_range(std::int64_t index, const IndexedAxis& axis);

}  // namespace pel::cpu

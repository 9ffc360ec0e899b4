#include "backends/cpu/indexing/indexed_walk.h"

#include <algorithm>

#include "pellucid/dtype.h"
#include "pellucid/threads.h"

#include "backends/cpu/elementwise/strided_loop.h"
#include "base/check.h"

namespace pel::cpu {
namespace {

bool is_i32(const Operand& index) { return static_cast<DType>(index.dtype) == kI32; }

}  // namespace

void IndexedWalk::add_axis(const WalkAxis& axis, const std::int64_t* steps) {
  is_empty = is_empty || axis.size == 0;
  if (axis.size == 1) return;
  const std::size_t count = indices.size();
  if (!axes.empty()) {
    WalkAxis& outer = axes.back();
    std::int64_t* outer_steps = index_steps.data() + (axes.size() - 1) * count;
    bool follows = outer.collides == axis.collides && outer.plain_step == axis.size * axis.plain_step &&
                   outer.indexed_step == axis.size * axis.indexed_step;
    for (std::size_t k = 0; k < count; ++k) follows = follows && outer_steps[k] == axis.size * steps[k];
    if (follows) {
      outer = {outer.size * axis.size, axis.plain_step, axis.indexed_step, axis.collides};
      std::copy_n(steps, count, outer_steps);
      return;
    }
  }
  axes.push_back(axis);
  for (std::size_t k = 0; k < count; ++k) index_steps.push_back(steps[k]);
}

IndexedWalk make_gather_walk(const Operand& plain, const Operand& indexed, const Operand& index,
                             std::int64_t dim, bool wraps) {
  const std::int64_t width = width_of(plain), index_width = width_of(index);
  IndexedWalk walk{static_cast<char*>(plain.data), static_cast<char*>(indexed.data), is_i32(index), wraps};
  walk.indices.push_back(
      {static_cast<const char*>(index.data), indexed.sizes[dim], indexed.strides[dim] * width, dim});
  for (int i = 0; i < index.rank; ++i) {
    const std::int64_t step = index.strides[i] * index_width;
    walk.add_axis(
        {index.sizes[i], plain.strides[i] * width, i == dim ? 0 : indexed.strides[i] * width, i == dim},
        &step);
  }
  return walk;
}

IndexedWalk make_index_walk(const Operand& plain, const Operand& indexed, const Operand* indices,
                            const PelScalar* dims, std::size_t count, std::int64_t before, bool wraps) {
  const std::int64_t width = width_of(plain);
  const bool narrow = count > 0 && is_i32(indices[0]);
  IndexedWalk walk{static_cast<char*>(plain.data), static_cast<char*>(indexed.data), narrow, wraps};
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t dim = dims[k].as_int;
    walk.indices.push_back(
        {static_cast<const char*>(indices[k].data), indexed.sizes[dim], indexed.strides[dim] * width, dim});
  }
  SmallVector<std::int64_t, 8> steps(count);
  int at = 0;  // in plain
  const auto add_index_axes = [&] {
    for (int i = 0; count > 0 && i < indices[0].rank; ++i, ++at) {
      for (std::size_t k = 0; k < count; ++k) steps[k] = indices[k].strides[i] * width_of(indices[k]);
      walk.add_axis({plain.sizes[at], plain.strides[at] * width, 0, true}, steps.data());
    }
    std::fill(steps.begin(), steps.end(), 0);
  };
  std::int64_t remaining = 0;
  for (int i = 0; i < indexed.rank; ++i) {
    if (remaining == before && at == before) add_index_axes();
    const bool replaced = std::any_of(dims, dims + count, [&](const PelScalar& d) { return d.as_int == i; });
    if (replaced) continue;
    walk.add_axis({plain.sizes[at], plain.strides[at] * width, indexed.strides[i] * width, false},
                  steps.data());
    ++at;
    ++remaining;
  }
  return walk;
}

int axis_to_divide(const IndexedWalk& walk, Divide divide) {
  // The outermost axis that provides a few pieces per thread, because long inner runs are fast; otherwise
  // the longest.
  int longest = -1;
  for (std::size_t i = 0; i < walk.axes.size(); ++i) {
    const WalkAxis& axis = walk.axes[i];
    if (divide == Divide::AxesWithoutCollisions && axis.collides) continue;
    if (axis.size >= 4 * std::int64_t{thread_count()}) return static_cast<int>(i);
    if (longest < 0 || axis.size > walk.axes[static_cast<std::size_t>(longest)].size)
      longest = static_cast<int>(i);
  }
  return longest;
}

void throw_out_of_range(std::int64_t index, const IndexedAxis& axis) {
  throw IndexError(
      fmt::format("index {} is out of range for axis {} of size {}", index, axis.axis, axis.size));
}

}  // namespace pel::cpu

// Iterates over the elements of two operands, with as few and as long inner runs as their strides permit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pellucid/dtype.h"
#include "pellucid/extend/kernel_args.h"

#include "base/small_vector.h"

namespace pel::cpu {

inline std::int64_t width_of(const Operand& a) { return size_bytes(static_cast<DType>(a.dtype)); }

inline bool is_row_major(const Operand& a) {
  if (a.is_row_major) return true;
  std::int64_t expected = 1;
  for (int i = a.rank; i-- > 0; expected *= a.sizes[i]) {
    if (a.strides[i] != expected && a.sizes[i] != 1) return false;
  }
  return true;
}

struct LoopAxis {
  std::int64_t size, dst_step, src_step;  // steps in bytes
};

using LoopAxes = SmallVector<LoopAxis, 8>;

// Returns the axes, innermost first. Drops axes of size 1 and merges adjacent axes that are contiguous in
// both operands.
inline LoopAxes loop_axes(const Operand& dst, const Operand& src) {
  const std::int64_t dst_bytes = width_of(dst), src_bytes = width_of(src);
  LoopAxes axes;
  for (int i = dst.rank; i-- > 0;) {
    if (dst.sizes[i] != 1)
      axes.push_back({dst.sizes[i], dst.strides[i] * dst_bytes, src.strides[i] * src_bytes});
  }
  std::sort(axes.begin(), axes.end(), [](const LoopAxis& a, const LoopAxis& b) {
    return a.dst_step != b.dst_step ? a.dst_step < b.dst_step : a.src_step < b.src_step;
  });
  LoopAxes joined;
  for (const LoopAxis& axis : axes) {
    if (!joined.empty() && axis.dst_step == joined.back().size * joined.back().dst_step &&
        axis.src_step == joined.back().size * joined.back().src_step) {
      joined.back().size *= axis.size;
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, dst_bytes, src_bytes});
  return joined;
}

// Calls run(dst, src, innermost axis) for each inner run.
template <class Run>
void for_each_run(const Operand& dst, const Operand& src, const LoopAxes& axes, Run&& run) {
  auto* to = static_cast<char*>(dst.data);
  const auto* from = static_cast<const char*>(src.data);
  SmallVector<std::int64_t, 8> index(axes.size());
  while (true) {
    run(to, from, axes[0]);
    std::size_t i = 1;
    for (; i < axes.size(); ++i) {
      to += axes[i].dst_step;
      from += axes[i].src_step;
      if (++index[i] < axes[i].size) break;
      to -= axes[i].size * axes[i].dst_step;
      from -= axes[i].size * axes[i].src_step;
      index[i] = 0;
    }
    if (i == axes.size()) return;
  }
}

}  // namespace pel::cpu

#include "tensor/layout.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/dim_context.h"

namespace pel {

std::int64_t wrap_axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t axes = rank == 0 ? 1 : rank;
  PEL_CHECK(axis >= -axes && axis < axes, IndexError,
            "axis {} is out of range for rank {}: expected {} to {}", axis, rank, -axes, axes - 1);
  return axis < 0 ? axis + axes : axis;
}

Dim product(Dims sizes) {
  Dim n = 1;
  for (Dim size : sizes) n *= size;
  return n;
}

DimVector row_major_strides(Dims sizes) {
  DimVector strides(sizes.size());
  fill_row_major_strides(strides.data(), sizes);
  return strides;
}

bool has_row_major_strides(Dims sizes, Dims strides) {
  Dim expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (!Dim::identical(strides[i], expected)) return false;
    if (!is_literally(sizes[i], 0)) expected *= sizes[i];
  }
  return true;
}

bool is_row_major(Dims sizes, Dims strides) {
  Dim expected = 1;
  bool fits = true;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (is_literally(sizes[i], 0)) return true;
    if (!Dim::identical(strides[i], expected) && !is_literally(sizes[i], 1)) fits = false;
    expected *= sizes[i];
  }
  return fits;
}

bool is_row_major_if_asked(Dims sizes, Dims strides) {
  if (!asks_for_views()) return false;
  Dim expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

namespace {

using Axes = SmallVector<std::size_t, 6>;

bool is_generically_one(Dim size) { return size.is_symbolic() && generic_value(size) <= 1; }

// Whether axis a runs faster than axis b: 1 yes, -1 no, 0 unknown.
int order_of_axes(Dims sizes, ArrayView<DimVector> operands, std::size_t a, std::size_t b) {
  for (const DimVector& own : operands) {
    const std::int64_t left = generic_value(own[a]), right = generic_value(own[b]);
    if (left == 0 || right == 0) continue;
    // A step of a slice that leaves one element of a generic size says nothing of other sizes.
    const bool is_telling = !is_generically_one(sizes[a]) && !is_generically_one(sizes[b]);
    if (left != right && is_telling) return left < right ? 1 : -1;
    // Symbols that say nothing about each other, such as a step of a slice: as they are in this call.
    if (!Dim::identical(own[a], own[b]) && !(own[a] == own[b])) return own[a] < own[b] ? 1 : -1;
    // They overlap, and which is longer differs from call to call.
    const bool is_one = is_literally(sizes[a], 1) || is_literally(sizes[b], 1);
    if (is_one ? generic_value(sizes[a]) > generic_value(sizes[b]) : sizes[b] < sizes[a]) return -1;
  }
  return 0;
}

int order_in_this_call(Dims sizes, ArrayView<DimVector> operands, std::size_t a, std::size_t b) {
  for (const DimVector& own : operands) {
    if (own[a] == 0 || own[b] == 0) continue;
    if (!(own[a] == own[b])) return own[a] < own[b] ? 1 : -1;
    if (sizes[b] < sizes[a]) return -1;
  }
  return 0;
}

// `axes` are in row-major order, the last first. An axis may pass one that it has no order with.
template <class Order>
void sort_fastest_first(Axes& axes, const Order& order_of) {
  for (std::size_t i = 1; i < axes.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int order = order_of(axes[j], axes[moving]);
      if (order > 0) break;
      if (order == 0) continue;
      std::swap(axes[j], axes[moving]);
      moving = j;
    }
  }
}

// Whether each pair is ordered as it would be without the others. Then so is any subset.
template <class Order>
bool agrees_pair_by_pair(const Axes& axes, const Order& order_of) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_swapped = axes[j] < axes[i];
      if ((order_of(std::max(axes[i], axes[j]), std::min(axes[i], axes[j])) < 0) != is_swapped) return false;
    }
  }
  return true;
}

Axes axes_fastest_first(Dims sizes, ArrayView<DimVector> operands) {
  const auto order_of = [&](std::size_t a, std::size_t b) { return order_of_axes(sizes, operands, a, b); };
  Axes axes;
  for (std::size_t i = sizes.size(); i-- > 0;) axes.push_back(i);
  sort_fastest_first(axes, order_of);
  if (axes.size() < 3 || agrees_pair_by_pair(axes, order_of)) return axes;
  // An axis of size 1 may have any stride and still affects the order: a graph guards on whether there is
  // one, and uses the strides of this call.
  bool has_one = false;
  for (const Dim size : sizes) has_one = (size.is_symbolic() && size == 1) || has_one;
  if (!has_one) return axes;
  Axes asked;
  for (std::size_t i = sizes.size(); i-- > 0;) asked.push_back(i);
  sort_fastest_first(asked,
                     [&](std::size_t a, std::size_t b) { return order_in_this_call(sizes, operands, a, b); });
  return asked;
}

}  // namespace

bool is_dense(Dims sizes, Dims strides) {
  if (is_row_major(sizes, strides)) return true;
  SmallVector<std::size_t, 6> left;  // axes whose position in memory is not known yet
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_literally(sizes[i], 1)) left.push_back(i);
  }
  for (Dim expected = 1; !left.empty();) {
    const auto next = std::find_if(left.begin(), left.end(),
                                   [&](std::size_t i) { return Dim::identical(strides[i], expected); });
    if (next == left.end()) return false;
    expected *= sizes[*next];
    left.erase(static_cast<std::size_t>(next - left.begin()));
  }
  return true;
}

DimVector dense_strides_of(Dims sizes, ArrayView<DimVector> operands) {
  DimVector result(sizes.size());
  Dim next = 1;
  for (const std::size_t axis : axes_fastest_first(sizes, operands)) {
    result[axis] = next;
    if (!is_literally(sizes[axis], 0)) next *= sizes[axis];
  }
  return result;
}

DimVector dense_strides_like(Dims sizes, Dims strides) {
  const DimVector own(strides);
  return is_dense(sizes, strides) ? own : dense_strides_of(sizes, {&own, 1});
}

void infer_size(Dims wanted, Dim count, Dim* sizes) {
  std::size_t open = wanted.size();  // where the -1 is
  Dim known = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Dim size = sizes[i] = wanted[i];
    if (is_size(size)) [[likely]] {
      known *= size;
    } else {
      PEL_CHECK(size == -1, ValueError, "size {} in {} is negative", to_string(size), to_string(wanted));
      PEL_CHECK(open == wanted.size(), ValueError, "only one size can be -1, not two as in {}",
                to_string(wanted));
      open = i;
    }
  }
  if (open == wanted.size()) {
    PEL_CHECK(known == count, ShapeError, "sizes {} have {} elements, but the tensor has {}",
              to_string(wanted), to_string(known), to_string(count));
    return;
  }
  PEL_CHECK(known != 0, ValueError, "-1 in {} could be any size: the product of the others is 0",
            to_string(wanted));
  PEL_CHECK(count % known == 0, ShapeError, "{} elements do not divide into sizes {}", to_string(count),
            to_string(wanted));
  sizes[open] = count / known;
}

// Symbols that may be the same are compared, which asks for a guard.
static bool agree_if_asked(Dim a, Dim b) {
  if (Dim::identical(a, b)) return true;
  return (a.is_symbolic() || b.is_symbolic()) && generic_value(a) == generic_value(b) && a == b;
}

bool view_strides(Dims sizes, Dims strides, Dims wanted, Dim* result) {
  if (has_row_major_strides(sizes, strides) || is_row_major_if_asked(sizes, strides)) {
    fill_row_major_strides(result, wanted);
    return true;
  }
  const bool same = std::equal(sizes.begin(), sizes.end(), wanted.begin(), wanted.end(), Dim::identical);
  const auto is_symbolic = [](Dim size) { return size.is_symbolic(); };
  const bool empty = is_literally(product(sizes), 0);
  if (same && (empty || std::any_of(sizes.begin(), sizes.end(), is_symbolic))) {
    copy_dims(result, strides);
    return true;
  }
  if (empty) {
    fill_row_major_strides(result, wanted);
    return true;
  }
  // Walk both shapes from the inside. Old axes that follow each other in memory form a run; the wanted axes
  // must divide each run without crossing its border.
  std::size_t next = wanted.size();  // wanted axes from here on are placed
  std::size_t run_end = sizes.size();
  while (run_end > 0) {
    const Dim inner_stride = strides[run_end - 1];
    Dim run = sizes[run_end - 1];
    std::size_t run_begin = run_end - 1;
    while (run_begin > 0 && (is_literally(sizes[run_begin - 1], 1) ||
                             agree_if_asked(strides[run_begin - 1], inner_stride * run))) {
      run *= sizes[--run_begin];
    }
    Dim placed = 1;
    while (next > 0 && (!agree_if_asked(placed, run) || is_literally(wanted[next - 1], 1))) {
      if (!placed.is_symbolic() && !run.is_symbolic() && placed > run) return false;
      result[--next] = placed * inner_stride;
      placed *= wanted[next];
    }
    if (!agree_if_asked(placed, run)) return false;
    run_end = run_begin;
  }
  return next == 0;
}

Expanded expand_layout(Dims sizes, Dims strides, Dims wanted) {
  PEL_CHECK(wanted.size() >= sizes.size(), ShapeError,
            "sizes {} have fewer axes than the tensor, which has {}", to_string(wanted), to_string(sizes));
  Expanded out{DimVector(wanted), DimVector(wanted.size())};
  const std::size_t added = wanted.size() - sizes.size();
  for (std::size_t i = wanted.size(); i-- > 0;) {
    const bool is_unchanged = is_literally(wanted[i], -1);
    PEL_CHECK(is_unchanged || is_size(wanted[i]), ShapeError, "size {} in {} is negative",
              to_string(wanted[i]), to_string(wanted));
    if (i < added) {
      PEL_CHECK(!is_unchanged, ShapeError, "-1 in {} is at a new axis, which has no size yet",
                to_string(wanted));
      // A new axis of size 1 continues its neighbour, as unsqueeze has it; a longer one repeats.
      const bool is_one = is_literally(wanted[i], 1) && !sizes.empty();
      out.strides[i] = is_one ? out.sizes[i + 1] * out.strides[i + 1] : Dim(0);
      continue;
    }
    const Dim size = sizes[i - added];
    out.strides[i] = strides[i - added];
    if (is_unchanged) {
      out.sizes[i] = size;
    } else if (is_literally(size, 1) ? !is_literally(wanted[i], 1) : size != wanted[i]) {
      PEL_CHECK(size == 1, ShapeError,
                "axis {} has size {} and cannot become {}: only an axis of size 1 expands (from {} to {})", i,
                to_string(size), to_string(wanted[i]), to_string(sizes), to_string(wanted));
      out.strides[i] = 0;
    }
  }
  return out;
}

Dim extent(Dims sizes, Dims strides) {
  if (std::any_of(sizes.begin(), sizes.end(), [](Dim size) { return is_literally(size, 0); })) return 0;
  Dim last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return last + 1;
}

}  // namespace pel

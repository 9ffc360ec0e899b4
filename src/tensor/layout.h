// Arithmetic on sizes and strides: the rules that several ops share. All of it works on symbolic sizes, and
// compares them only where the answer changes the result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pellucid/dim.h"

#include "base/small_vector.h"

namespace pel {

using DimVector = SmallVector<Dim, 6>;
inline constexpr std::int64_t kMaxRank = 64;

// Negative axes count from the end. A 0-dim tensor takes axis 0 and -1, as if it had one axis.
std::int64_t wrap_axis(std::int64_t axis, std::int64_t rank);

Dim product(Dims sizes);
DimVector row_major_strides(Dims sizes);
// Questions of layout ask a symbolic size nothing: it counts as neither 0 nor 1, so they record no guard.
constexpr bool is_literally(Dim size, std::int64_t value) { return Dim::identical(size, Dim(value)); }
// Whether two lists are the same, without asking a symbolic size anything.
inline bool identical(Dims a, Dims b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), Dim::identical);
}
// Whether a number is a valid size or stride.
inline bool is_size(Dim size) { return size.is_symbolic() || size >= 0; }
inline void fill_row_major_strides(Dim* strides, Dims sizes) {
  Dim next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    if (!is_literally(sizes[i], 0)) next *= sizes[i];  // an empty axis counts as one
  }
}
// Element by element: at ranks this small a call of memcpy costs more than it saves.
inline void copy_dims(Dim* to, Dims from) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
}
// Whether the strides are just those of row_major_strides.
bool has_row_major_strides(Dims sizes, Dims strides);
// Whether the elements lie in row-major order; strides of axes of size 1 do not matter.
bool is_row_major(Dims sizes, Dims strides);
// The same by the sizes of the call, if a capture asks_for_views; false if not.
bool is_row_major_if_asked(Dims sizes, Dims strides);
// Whether the elements fill their memory without gap or overlap, in any order of axes.
bool is_dense(Dims sizes, Dims strides);
// Dense strides with the axes in the order that they have in the operands, whose strides are those at these
// sizes: the first that repeats neither of two axes decides. As PyTorch's: ties keep the row-major order.
DimVector dense_strides_of(Dims sizes, ArrayView<DimVector> operands);
// The strides of a dense copy: the same where the original is dense, otherwise its order of axes.
DimVector dense_strides_like(Dims sizes, Dims strides);

// Copies `wanted` to `sizes` and replaces one -1 by what `count` elements leave for it.
void infer_size(Dims wanted, Dim count, Dim* sizes);
// Writes the strides that show the same elements in the same order with other sizes; false where that needs a
// copy.
bool view_strides(Dims sizes, Dims strides, Dims wanted, Dim* result);

// `sizes` and `strides` seen with the sizes `wanted`, where -1 leaves an axis as it is; new and size-1 axes
// get stride 0.
struct Expanded {
  DimVector sizes, strides;
};
Expanded expand_layout(Dims sizes, Dims strides, Dims wanted);

// Elements between the first and the last one addressed, plus one; 0 for an empty tensor.
Dim extent(Dims sizes, Dims strides);

}  // namespace pel

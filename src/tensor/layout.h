// Arithmetic on sizes and strides: the rules that several ops share. All of it works on symbolic sizes, and
// compares them only where the answer changes the result.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/dim.h"

#include "base/small_vector.h"

namespace pel {

using DimVector = SmallVector<Dim, 6>;
inline constexpr std::int64_t kMaxRank = 64;

// Negative axes count from the end. A 0-dim tensor takes axis 0 and -1, as if it had one axis.
std::int64_t wrap_axis(std::int64_t axis, std::int64_t rank);

Dim product(Dims sizes);
DimVector row_major_strides(Dims sizes);
bool is_row_major(Dims sizes, Dims strides);
// Whether the elements fill their memory without gap or overlap, in any order of axes.
bool is_dense(Dims sizes, Dims strides);
// The strides of a dense copy: the same where the original is dense, otherwise its order of axes.
DimVector dense_strides_like(Dims sizes, Dims strides);

// Replaces one -1 by what `count` elements leave for it.
DimVector infer_size(Dims wanted, Dim count);
// Strides that show the same elements in the same order with other sizes; none where that needs a copy.
std::optional<DimVector> view_strides(Dims sizes, Dims strides, Dims wanted);

// `sizes` and `strides` seen with the sizes `wanted`, where -1 keeps an axis; new and size-1 axes get stride
// 0.
struct Expanded {
  DimVector sizes, strides;
};
Expanded expand_layout(Dims sizes, Dims strides, Dims wanted);

// Elements between the first and the last one addressed, plus one; 0 for an empty tensor.
Dim extent(Dims sizes, Dims strides);

}  // namespace pel

// What the ops that take indices share.
#pragma once

#include <string_view>
#include <vector>

#include "pellucid/extend/op.h"

#include "ops/shared/axis.h"
#include "tensor/make.h"

namespace pel {

void check_index_dtype(const Tensor& index);
// Of an op whose result depends on values.
void check_has_data(const Tensor& self);
// Two operands that begin at one element: one is written while the other is read.
void check_apart(const Tensor& written, const Tensor& read);

// Results are found in blocks, so that threads know where theirs begin: where each block's begin, and the
// total, as i64[blocks + 1]. `self` is row-major and has data.
inline constexpr std::int64_t kCountBlock = 4096;
Tensor count_nonzero_blocks(const Tensor& self);
std::int64_t total_of(const Tensor& counts);
// One row of indices for each element that is not 0.
Tensor nonzero_rows(const Tensor& self);

// x[…] with tensors for some axes.
struct IndexPlan {
  std::vector<Tensor> indices;     // i64 or all i32, without masks, of the same sizes
  std::vector<std::int64_t> axes;  // ascending, one for each index
  DimVector sizes;                 // of what is indexed
  std::int64_t before = 0;         // axes that stay and stand before those of the indices
  std::vector<Scalar> scalars(const Scalar& first) const;  // for the kernels
};
IndexPlan plan_index(const Tensor& self, ArrayView<Tensor> indices, Axes axes);

// How several values for one element are combined; kernels receive the number.
enum class Combine : std::uint8_t { Write = 0, Add = 1, Multiply = 2, Maximum = 3, Minimum = 4 };
// Launches the kernels of scatter: checks sizes and dtypes, and writes into self.
void launch_scatter(const Op& op, const Tensor& self, std::int64_t axis, const Tensor& index,
                    const Tensor& src, Combine combine);
// Padded with zeros at the end, to these sizes.
Tensor padded_to(const Tensor& t, Dims sizes);
// The gradient of the sources of a scatter, from that of its result: of those beyond the index, 0.
Tensor source_gradient(const Tensor& grad, std::int64_t axis, const Tensor& index, Dims sources);
// The sizes of an index against those of the tensor it picks from.
void check_gather_sizes(const Tensor& self, const Tensor& index, std::size_t axis);

}  // namespace pel

#include "ops/shared/spatial.h"

#include "pellucid/ops.h"
#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel {

SpatialNumbers per_axis(std::string_view what, Ints given, std::size_t axes, std::int64_t min) {
  PEL_CHECK(given.size() == axes || given.size() == 1, ValueError,
            "{} must have one number, or one for each of {} spatial axes, not {}", what, axes, given.size());
  SpatialNumbers numbers(axes);
  for (std::size_t i = 0; i < axes; ++i) {
    numbers[i] = given[given.size() == 1 ? 0 : i];
    PEL_CHECK(numbers[i] >= min, ValueError, "{} must be at least {}, not {}", what, min, numbers[i]);
  }
  return numbers;
}

namespace {
DimVector channels_last_strides(Dims sizes) {
  DimVector strides(sizes);
  strides[1] = 1;
  Dim next = sizes[1];
  for (std::size_t i = sizes.size(); i-- > 2; next *= sizes[i]) strides[i] = next;
  strides[0] = next;
  return strides;
}
}  // namespace

bool is_channels_last(const Tensor& t) {
  if (t.dim() < 4 || has_row_major_strides(t.sizes(), t.strides())) return false;
  const DimVector wanted = channels_last_strides(t.sizes());
  // To the last stride, also where a size is 1: a graph, which is for all sizes, answers as its sizes do.
  // Channels come first: the stride of theirs tells most tensors apart.
  const auto fits = [&](std::size_t i) {
    return Dim::identical(wanted[i], t.strides()[i]) || wanted[i] == t.strides()[i];
  };
  if (!fits(1)) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (i != 1 && !fits(i)) return false;
  return true;
}

Tensor make_spatial(Dims sizes, const Tensor& like, DType dtype) {
  if (sizes.size() >= 4 && is_channels_last(like))
    return make_strided(sizes, channels_last_strides(sizes), dtype, like.device());
  return make_dense(sizes, dtype, like.device());
}

Tensor empty_spatial(Dims sizes, const Tensor& like, DType dtype) {
  if (sizes.size() >= 4 && is_channels_last(like))
    return empty_strided(sizes, channels_last_strides(sizes), {dtype, like.device()});
  return empty(sizes, {dtype, like.device()});
}

Tensor with_batch(const Tensor& t, std::size_t axes) {
  const std::size_t rank = t.sizes().size();
  PEL_CHECK(rank == axes + 1 || rank == axes + 2, ShapeError,
            "the input has an axis of channels, {} spatial ones and perhaps a batch; {} has {} axes", axes,
            describe(t), rank);
  if (rank == axes + 2) return t;
  DimVector sizes(t.sizes()), strides(t.strides());
  sizes.insert(0, 1);
  strides.insert(0, product(t.sizes()));
  return make_view(t, sizes, strides);
}

Tensor as_batched(const Tensor& t, const Tensor& like) {
  if (like.dim() == t.dim()) return t;
  DimVector sizes(t.sizes()), strides(t.strides());
  sizes.erase(0);
  strides.erase(0);
  return make_view(t, sizes, strides);
}

Tensor along_last_axes(const Tensor& t, const std::vector<Tensor>& matrices) {
  Tensor result = t;
  for (std::size_t i = matrices.size(); i-- > 0;) {
    const std::int64_t axis = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(matrices.size());
    result = transpose(matmul(transpose(result, axis, -1), matrices[i]), axis, -1);
  }
  return result;
}

}  // namespace pel

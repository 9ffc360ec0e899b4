// Indexing and movement. Names and semantics are PyTorch's. Results are row-major.
//
// An index is i64 or i32; an index out of range is an IndexError with the index, the axis and the size.
// Negative indices count from the end in index, index_put and take_along_dim along an axis; elsewhere they
// are out of range. nonzero, masked_select, repeat_interleave by a tensor, one_hot without a number of
// classes, and an index that is a mask have results whose sizes depend on data: they read it, and do not
// work on the meta device.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "pellucid/enum_names.h"
#include "pellucid/tensor.h"

namespace pel {

// Joining. Dtypes promote. Sizes agree except along the axis; a tensor of sizes [0] can be joined with any
// other.
PEL_API Tensor cat(ArrayView<Tensor> tensors, std::int64_t axis = 0, Site site = Site::current());
// Along a new axis.
PEL_API Tensor stack(ArrayView<Tensor> tensors, std::int64_t axis = 0, Site site = Site::current());
// One view for each vector, all of one shape: element i of vector k is at index i of axis k. With
// MeshgridIndexing::Xy the first two axes are swapped.
enum class MeshgridIndexing : std::uint8_t { Ij, Xy };
template <>
inline constexpr EnumNames<2> enum_names<MeshgridIndexing> = {"indexing", {"ij", "xy"}};
PEL_API std::vector<Tensor> meshgrid(ArrayView<Tensor> tensors,
                                     MeshgridIndexing indexing = MeshgridIndexing::Ij,
                                     Site site = Site::current());

// Picking. index_select takes whole slices; gather takes result[i][j] = self[index[i][j]][j] for axis 0.
PEL_API Tensor index_select(const Tensor& self, std::int64_t axis, const Tensor& index,
                            Site site = Site::current());
PEL_API Tensor gather(const Tensor& self, std::int64_t axis, const Tensor& index,
                      Site site = Site::current());
// gather with self and indices broadcast against each other; without an axis both are flattened.
PEL_API Tensor take_along_dim(const Tensor& self, const Tensor& indices,
                              std::optional<std::int64_t> axis = std::nullopt, Site site = Site::current());
// Rows of a table, as many as there are indices.
PEL_API Tensor embedding(const Tensor& weight, const Tensor& indices, Site site = Site::current());
// x[rows, :, columns] is index(x, {rows, columns}, {0, 2}); without axes the indices are for axes 0, 1, ….
// They broadcast, and their sizes replace the axes they index, or come first if those are not adjacent. A
// bool or u8 mask indexes as many axes as it has.
PEL_API Tensor index(const Tensor& self, ArrayView<Tensor> indices, Axes axes = {},
                     Site site = Site::current());
// The elements for which the mask is true, in row-major order; the two broadcast.
PEL_API Tensor masked_select(const Tensor& self, const Tensor& mask, Site site = Site::current());
// The index of each element that is not 0, one row each.
PEL_API Tensor nonzero(const Tensor& self, Site site = Site::current());

// Scattering. If several sources have the same destination they are applied in row-major order: the last one
// wins, or all are added, each rounded to the dtype. The forms with a trailing underscore change self; after
// an IndexError some of their elements may be written.
//
// scatter: result[index[i][j]][j] = src[i][j] for axis 0. With `reduce` the source is added to the element,
// or multiplies it.
enum class ScatterMode : std::uint8_t { Add, Multiply };
template <>
inline constexpr EnumNames<2> enum_names<ScatterMode> = {"reduce", {"add", "multiply"}};
PEL_API Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                       std::optional<ScatterMode> reduce = std::nullopt, Site site = Site::current());
PEL_API Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
                       std::optional<ScatterMode> reduce = std::nullopt, Site site = Site::current());
PEL_API const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                               std::optional<ScatterMode> reduce = std::nullopt, Site site = Site::current());
PEL_API const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index,
                               const Scalar& value, std::optional<ScatterMode> reduce = std::nullopt,
                               Site site = Site::current());
PEL_API Tensor scatter_add(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                           Site site = Site::current());
PEL_API const Tensor& scatter_add_(const Tensor& self, std::int64_t axis, const Tensor& index,
                                   const Tensor& src, Site site = Site::current());
// The sum, product, mean, max or min of the sources and, with IncludeSelf, of the element itself.
enum class ScatterReduce : std::uint8_t { Sum, Prod, Mean, Amax, Amin };
template <>
inline constexpr EnumNames<5> enum_names<ScatterReduce> = {"reduce", {"sum", "prod", "mean", "amax", "amin"}};
enum class IncludeSelf : bool { No, Yes };
PEL_API Tensor scatter_reduce(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                              ScatterReduce reduce, IncludeSelf include_self = IncludeSelf::Yes,
                              Site site = Site::current());
PEL_API const Tensor& scatter_reduce_(const Tensor& self, std::int64_t axis, const Tensor& index,
                                      const Tensor& src, ScatterReduce reduce,
                                      IncludeSelf include_self = IncludeSelf::Yes,
                                      Site site = Site::current());
// A copy of self with src written to what `select` or `slice` would return.
PEL_API Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t axis, Dim index,
                              Site site = Site::current());
PEL_API Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t axis = 0,
                             std::optional<Dim> start = std::nullopt, std::optional<Dim> end = std::nullopt,
                             Dim step = 1, Site site = Site::current());
// A copy of self with the elements of source, in order, where the mask is true; the mask and self broadcast.
PEL_API Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source,
                              Site site = Site::current());
// The values, broadcast, written or added to the elements that `index` would read.
enum class Accumulate : bool { No, Yes };
PEL_API Tensor index_put(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                         Accumulate accumulate = Accumulate::No, Axes axes = {}, Site site = Site::current());
PEL_API const Tensor& index_put_(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                                 Accumulate accumulate = Accumulate::No, Axes axes = {},
                                 Site site = Site::current());
// i64, with one axis more: 1 at the class, 0 elsewhere. Without `classes`, one more than the largest class.
PEL_API Tensor one_hot(const Tensor& self, std::int64_t num_classes = -1, Site site = Site::current());

// Repeating. `repeat` concatenates copies along each axis; repeat_interleave repeats each slice next to
// itself, or without an axis each element of the flattened tensor.
PEL_API Tensor repeat(const Tensor& self, Dims repeats, Site site = Site::current());
PEL_API Tensor repeat_interleave(const Tensor& self, const Tensor& repeats,
                                 std::optional<std::int64_t> axis = std::nullopt,
                                 std::optional<Dim> output_size = std::nullopt, Site site = Site::current());
PEL_API Tensor repeat_interleave(const Tensor& self, Dim repeats,
                                 std::optional<std::int64_t> axis = std::nullopt,
                                 Site site = Site::current());

// Moving: copies. Without axes, roll moves the flattened tensor.
PEL_API Tensor flip(const Tensor& self, Axes axes, Site site = Site::current());
PEL_API Tensor roll(const Tensor& self, Ints shifts, Axes axes = {}, Site site = Site::current());

// Borders: {before, after} for the last axis, then for the one before it, …. Negative ones cut. The modes
// other than Constant pad the last one to three axes and keep one or two axes before them.
enum class PadMode : std::uint8_t { Constant, Reflect, Replicate, Circular };
template <>
inline constexpr EnumNames<4> enum_names<PadMode> = {"mode",
                                                     {"constant", "reflect", "replicate", "circular"}};
PEL_API Tensor constant_pad_nd(const Tensor& self, Dims pad, const Scalar& value = 0,
                               Site site = Site::current());
PEL_API Tensor pad(const Tensor& self, Dims pad, PadMode mode = PadMode::Constant,
                   std::optional<Scalar> value = std::nullopt, Site site = Site::current());

// The part of each matrix on and below, or above, a diagonal; 0 elsewhere.
PEL_API Tensor tril(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API Tensor triu(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API const Tensor& tril_(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API const Tensor& triu_(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());

}  // namespace pel

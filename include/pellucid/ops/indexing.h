// Indexing and movement. Names and semantics are PyTorch's. Results are row-major.
//
// An index is i64 or i32; one that is out of range is an IndexError that names it, its axis and the size.
// Negative indices count from the end in index, index_put and take_along_dim along an axis; elsewhere they
// are out of range. nonzero, masked_select, repeat_interleave by a tensor, one_hot without a number of
// classes, and an index that is a mask have results whose sizes depend on data: they read it, and refuse the
// meta device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "pellucid/tensor.h"

namespace pel {

// Joining. Dtypes promote. Sizes agree but for the axis; a tensor of sizes [0] joins anything.
PEL_API Tensor cat(ArrayView<Tensor> tensors, std::int64_t axis = 0, Site site = Site::current());
// Along a new axis.
PEL_API Tensor stack(ArrayView<Tensor> tensors, std::int64_t axis = 0, Site site = Site::current());
// One view for each vector, all of one shape: element i of vector k stands at index i of axis k. With
// indexing "xy" the first two axes are swapped.
PEL_API std::vector<Tensor> meshgrid(ArrayView<Tensor> tensors, std::string_view indexing = "ij",
                                     Site site = Site::current());

// Picking. index_select takes whole slices; gather takes result[i][j] = self[index[i][j]][j] for axis 0.
PEL_API Tensor index_select(const Tensor& self, std::int64_t axis, const Tensor& index,
                            Site site = Site::current());
PEL_API Tensor gather(const Tensor& self, std::int64_t axis, const Tensor& index,
                      Site site = Site::current());
// gather with self and indices broadcast against each other; without an axis both are taken flat.
PEL_API Tensor take_along_dim(const Tensor& self, const Tensor& indices,
                              std::optional<std::int64_t> axis = std::nullopt, Site site = Site::current());
// Rows of a table, as many as there are indices.
PEL_API Tensor embedding(const Tensor& weight, const Tensor& indices, Site site = Site::current());
// The gradient of a table of so many rows. Rows that padding_idx names get none; with ScaleGradByFreq each is
// divided by how often it was taken.
enum class ScaleGradByFreq : bool { No, Yes };
PEL_API Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, Dim rows,
                                        std::int64_t padding_idx = -1,
                                        ScaleGradByFreq scale = ScaleGradByFreq::No,
                                        Site site = Site::current());
// Rows of a table, added (mode 0), averaged (1) or compared (2) in bags, which begin at the offsets; with
// IncludeLastOffset the last offset is the end. Gives the bags, the bag of each index, the number of indices
// in each bag, and, of the greatest, the rows that they came from. `scale` and `sparse` speak of gradients.
enum class Sparse : bool { No, Yes };
enum class IncludeLastOffset : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets,
    ScaleGradByFreq scale = ScaleGradByFreq::No, std::int64_t mode = 0, Sparse sparse = Sparse::No,
    const std::optional<Tensor>& per_sample_weights = std::nullopt,
    IncludeLastOffset include_last_offset = IncludeLastOffset::No, std::int64_t padding_idx = -1,
    Site site = Site::current());
// x[rows, :, columns] is index(x, {rows, columns}, {0, 2}); without axes the indices stand at 0, 1, …. They
// broadcast, and their sizes take the place of the axes they index, or the front where those are not
// neighbours. A bool or u8 mask indexes as many axes as it has.
PEL_API Tensor index(const Tensor& self, ArrayView<Tensor> indices, Axes axes = {},
                     Site site = Site::current());
// The elements where the mask holds, in row-major order; the two broadcast.
PEL_API Tensor masked_select(const Tensor& self, const Tensor& mask, Site site = Site::current());
// The index of each element that is not 0, one row each.
PEL_API Tensor nonzero(const Tensor& self, Site site = Site::current());

// Placing. Where several sources meet in one element they are applied in row-major order: the last one stays,
// or all are added, each rounded to the dtype. The forms with a trailing underscore change self; after an
// IndexError some of their elements may be written.
//
// scatter: result[index[i][j]][j] = src[i][j] for axis 0; reduce is "add" or "multiply".
PEL_API Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                       std::optional<std::string_view> reduce = std::nullopt, Site site = Site::current());
PEL_API Tensor scatter(const Tensor& self, std::int64_t axis, const Tensor& index, const Scalar& value,
                       std::optional<std::string_view> reduce = std::nullopt, Site site = Site::current());
PEL_API const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                               std::optional<std::string_view> reduce = std::nullopt,
                               Site site = Site::current());
PEL_API const Tensor& scatter_(const Tensor& self, std::int64_t axis, const Tensor& index,
                               const Scalar& value, std::optional<std::string_view> reduce = std::nullopt,
                               Site site = Site::current());
PEL_API Tensor scatter_add(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                           Site site = Site::current());
PEL_API const Tensor& scatter_add_(const Tensor& self, std::int64_t axis, const Tensor& index,
                                   const Tensor& src, Site site = Site::current());
// reduce is "sum", "prod", "mean", "amax" or "amin", of the sources and, with IncludeSelf, of what was there.
enum class IncludeSelf : bool { No, Yes };
PEL_API Tensor scatter_reduce(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& src,
                              std::string_view reduce, IncludeSelf include_self = IncludeSelf::Yes,
                              Site site = Site::current());
PEL_API const Tensor& scatter_reduce_(const Tensor& self, std::int64_t axis, const Tensor& index,
                                      const Tensor& src, std::string_view reduce,
                                      IncludeSelf include_self = IncludeSelf::Yes,
                                      Site site = Site::current());
// A copy of self with src in place of what `select` or `slice` would give.
PEL_API Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t axis, Dim index,
                              Site site = Site::current());
PEL_API Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t axis = 0,
                             std::optional<Dim> start = std::nullopt, std::optional<Dim> stop = std::nullopt,
                             Dim step = 1, Site site = Site::current());
// The elements of source, one after the other, where the mask holds; the mask and self broadcast.
PEL_API Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source,
                              Site site = Site::current());
// The values, broadcast, written or added where `index` would read.
enum class Accumulate : bool { No, Yes };
PEL_API Tensor index_put(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                         Accumulate accumulate = Accumulate::No, Axes axes = {}, Site site = Site::current());
PEL_API const Tensor& index_put_(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                                 Accumulate accumulate = Accumulate::No, Axes axes = {},
                                 Site site = Site::current());
// i64, with one axis more: 1 at the class, 0 elsewhere. Without `classes`, one more than the largest class.
PEL_API Tensor one_hot(const Tensor& self, std::int64_t classes = -1, Site site = Site::current());

// Repeating. `repeat` lays copies side by side, so many along each axis; repeat_interleave repeats each slice
// in its place, and without an axis each element of the flat tensor.
PEL_API Tensor repeat(const Tensor& self, Dims repeats, Site site = Site::current());
PEL_API Tensor repeat_interleave(const Tensor& self, const Tensor& repeats,
                                 std::optional<std::int64_t> axis = std::nullopt,
                                 std::optional<Dim> output_size = std::nullopt, Site site = Site::current());
PEL_API Tensor repeat_interleave(const Tensor& self, Dim repeats,
                                 std::optional<std::int64_t> axis = std::nullopt,
                                 Site site = Site::current());

// Moving: copies. Without axes, roll moves the flat tensor.
PEL_API Tensor flip(const Tensor& self, Axes axes, Site site = Site::current());
PEL_API Tensor roll(const Tensor& self, Axes shifts, Axes axes = {}, Site site = Site::current());

// Borders: {before, after} for the last axis, then for the one before it, …. Negative ones cut. The modes
// "reflect", "replicate" and "circular" pad the last one to three axes and keep one or two axes before them.
PEL_API Tensor constant_pad_nd(const Tensor& self, Dims padding, const Scalar& value = 0,
                               Site site = Site::current());
PEL_API Tensor pad(const Tensor& self, Dims padding, std::string_view mode = "constant",
                   std::optional<Scalar> value = std::nullopt, Site site = Site::current());

// The part of each matrix on and below, or above, a diagonal; 0 elsewhere.
PEL_API Tensor tril(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API Tensor triu(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API const Tensor& tril_(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());
PEL_API const Tensor& triu_(const Tensor& self, std::int64_t diagonal = 0, Site site = Site::current());

}  // namespace pel

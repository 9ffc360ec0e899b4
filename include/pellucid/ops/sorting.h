// Scans, sorting and searching along one axis. Names and semantics are PyTorch's. NaN is larger than any
// number and 0 equals -0. Of equal values the one with the lowest index comes first, so no result depends on
// threads or layout. Negative axes count from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/ops/reductions.h"  // KeepDims
#include "pellucid/tensor.h"

namespace pel {

// Sums and products up to each element, one after the other. f32 accumulates in f64, f16 and bf16 in f32;
// the result of integers and bool is i64, and wraps.
PEL_API Tensor cumsum(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                      Site site = Site::current());
PEL_API Tensor cumprod(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                       Site site = Site::current());
// log(sum e^x) up to each element, without overflow. Floating dtypes.
PEL_API Tensor logcumsumexp(const Tensor& self, std::int64_t axis, Site site = Site::current());
// The max or min so far and its index: of equal elements the last one, and the last NaN.
PEL_API std::tuple<Tensor, Tensor> cummax(const Tensor& self, std::int64_t axis, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> cummin(const Tensor& self, std::int64_t axis, Site site = Site::current());

// Values and indices. Always stable; descending too keeps equal elements in their order.
enum class Descending : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor> sort(const Tensor& self, std::int64_t axis = -1,
                                        Descending descending = Descending::No, Site site = Site::current());
PEL_API Tensor argsort(const Tensor& self, std::int64_t axis = -1, Descending descending = Descending::No,
                       Site site = Site::current());
// The k largest or smallest elements and their indices; always sorted.
enum class Largest : bool { No, Yes };
enum class Sorted : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor> topk(const Tensor& self, Dim k, std::int64_t axis = -1,
                                        Largest largest = Largest::Yes, Sorted sorted = Sorted::Yes,
                                        Site site = Site::current());
// The k-th smallest element, from 1, and its index.
PEL_API std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, Dim k, std::int64_t axis = -1,
                                            KeepDims keepdim = KeepDims::No, Site site = Site::current());
// The lower of the two in the middle; NaN if an element is NaN. Over all elements, or along an axis with the
// index: median(x, 1) is median_dim(x, 1).
PEL_API Tensor median(const Tensor& self, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> median(const Tensor& self, std::int64_t axis,
                                          KeepDims keepdim = KeepDims::No, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> median_dim(const Tensor& self, std::int64_t axis = -1,
                                              KeepDims keepdim = KeepDims::No, Site site = Site::current());

// The distinct values, sorted; for each element the index of its value, with the sizes of `self`; and the
// count of each value. The last two are empty unless requested. A NaN equals no other.
enum class ReturnInverse : bool { No, Yes };
enum class ReturnCounts : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& self, Sorted sorted = Sorted::Yes,
                                                  ReturnInverse return_inverse = ReturnInverse::No,
                                                  ReturnCounts return_counts = ReturnCounts::No,
                                                  Site site = Site::current());
// The index at which each value would be inserted into sorted_sequence: before equal elements, or after them
// with Side::Right. The sequence has one axis, or the leading axes of the values. `sorter` is the argsort of
// a sequence that is not sorted.
enum class OutInt32 : bool { No, Yes };
enum class Side : bool { Left, Right };
PEL_API Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values,
                            OutInt32 out_int32 = OutInt32::No, Side side = Side::Left,
                            const std::optional<Tensor>& sorter = std::nullopt, Site site = Site::current());
PEL_API Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value,
                            OutInt32 out_int32 = OutInt32::No, Side side = Side::Left,
                            const std::optional<Tensor>& sorter = std::nullopt, Site site = Site::current());
// The count of each integer in a tensor of one axis, or the sum of its weights: f32 for f32 weights, else
// f64.
PEL_API Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights = std::nullopt,
                        std::int64_t minlength = 0, Site site = Site::current());
// The number of elements in each of `bins` equal intervals from min to max, which is in the last one.
// Elements outside and NaN are not counted. With min = max, the range is that of the elements. Floating
// dtypes.
PEL_API Tensor histc(const Tensor& self, std::int64_t bins = 100, const Scalar& min = 0,
                     const Scalar& max = 0, Site site = Site::current());

}  // namespace pel

// Scans, sorting and searching along one axis. Names and semantics are PyTorch's. NaN is the greatest value
// and 0 equals -0. Of equal values the one with the lowest index comes first, so no result depends on the
// threads or the layout. Negative axes count from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/ops/reductions.h"  // KeepDims
#include "pellucid/tensor.h"

namespace pel {

// Sums and products up to each element, one after the other. f32 accumulates in f64, f16 and bf16 in f32;
// integers and bool give i64, and wrap.
PEL_API Tensor cumsum(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                      Site site = Site::current());
PEL_API Tensor cumprod(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                       Site site = Site::current());
// log(sum e^x) up to each element, without overflow. Floating dtypes.
PEL_API Tensor logcumsumexp(const Tensor& self, std::int64_t axis, Site site = Site::current());
// The greatest and the least element so far, and its index: here the last of equal ones, and the last NaN.
PEL_API std::tuple<Tensor, Tensor> cummax(const Tensor& self, std::int64_t axis, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> cummin(const Tensor& self, std::int64_t axis, Site site = Site::current());

// Values and indices. Always stable; descending too keeps equal elements in their order.
enum class Descending : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor> sort(const Tensor& self, std::int64_t axis = -1,
                                        Descending descending = Descending::No, Site site = Site::current());
PEL_API Tensor argsort(const Tensor& self, std::int64_t axis = -1, Descending descending = Descending::No,
                       Site site = Site::current());
// The k greatest elements, or least, and their indices; sorted in any case.
enum class Largest : bool { No, Yes };
enum class Sorted : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor> topk(const Tensor& self, Dim k, std::int64_t axis = -1,
                                        Largest largest = Largest::Yes, Sorted sorted = Sorted::Yes,
                                        Site site = Site::current());
// The k-th least element, from 1, and its index.
PEL_API std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, Dim k, std::int64_t axis = -1,
                                            KeepDims keep = KeepDims::No, Site site = Site::current());
// The lower of the two in the middle; NaN where an element is. Over all elements, or with the index along an
// axis: median(x, 1) is median_dim(x, 1).
PEL_API Tensor median(const Tensor& self, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> median(const Tensor& self, std::int64_t axis, KeepDims keep = KeepDims::No,
                                          Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> median_dim(const Tensor& self, std::int64_t axis = -1,
                                              KeepDims keep = KeepDims::No, Site site = Site::current());

// The different values of all elements, sorted; for each element the number of its value, in the sizes of
// `self`; and how often each value stands there. The last two are empty unless they are asked for. A NaN
// equals no other.
enum class ReturnInverse : bool { No, Yes };
enum class ReturnCounts : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& self, Sorted sorted = Sorted::Yes,
                                                  ReturnInverse inverse = ReturnInverse::No,
                                                  ReturnCounts counts = ReturnCounts::No,
                                                  Site site = Site::current());
// For each value the index in the sorted boundaries before which it belongs, or with Side::Right behind which
// of equal ones. Boundaries have one axis, or those of the values but for the last. `sorter` is the argsort
// of boundaries that are not sorted.
enum class OutInt32 : bool { No, Yes };
enum class Side : bool { Left, Right };
PEL_API Tensor searchsorted(const Tensor& boundaries, const Tensor& values, OutInt32 out = OutInt32::No,
                            Side side = Side::Left, const std::optional<Tensor>& sorter = std::nullopt,
                            Site site = Site::current());
PEL_API Tensor searchsorted(const Tensor& boundaries, const Scalar& value, OutInt32 out = OutInt32::No,
                            Side side = Side::Left, const std::optional<Tensor>& sorter = std::nullopt,
                            Site site = Site::current());
// How often each integer stands in a tensor of one axis, or the sums of the weights of its places: f32 where
// they are, else f64.
PEL_API Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights = std::nullopt,
                        std::int64_t minlength = 0, Site site = Site::current());

}  // namespace pel

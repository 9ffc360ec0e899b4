// Ops over rows: reductions over any axes, and rows that are normalised. All follow one order that depends on
// the sizes of the reduced axes alone; f16 and bf16 are computed in f32 and rounded once.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

enum class KeepDims : bool { No, Yes };

// Over the axes named; none means all. Integers and bool give i64 where no dtype is given.
PEL_API Tensor sum(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                   std::optional<DType> dtype = std::nullopt, Site site = Site::current());
PEL_API Tensor prod(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                    KeepDims keep = KeepDims::No, std::optional<DType> dtype = std::nullopt,
                    Site site = Site::current());
PEL_API Tensor count_nonzero(const Tensor& self, Axes axes = {}, Site site = Site::current());
// Floating dtypes, or a dtype given.
PEL_API Tensor mean(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                    std::optional<DType> dtype = std::nullopt, Site site = Site::current());
// NaN where an element is NaN.
PEL_API Tensor amax(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                    Site site = Site::current());
PEL_API Tensor amin(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                    Site site = Site::current());
// Least and greatest.
PEL_API std::tuple<Tensor, Tensor> aminmax(const Tensor& self,
                                           std::optional<std::int64_t> axis = std::nullopt,
                                           KeepDims keep = KeepDims::No, Site site = Site::current());
// The index of the first greatest or least element; without an axis, of the flattened tensor.
PEL_API Tensor argmax(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                      KeepDims keep = KeepDims::No, Site site = Site::current());
PEL_API Tensor argmin(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                      KeepDims keep = KeepDims::No, Site site = Site::current());
// Values and their indices.
PEL_API std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t axis, KeepDims keep = KeepDims::No,
                                       Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t axis, KeepDims keep = KeepDims::No,
                                       Site site = Site::current());
// Whether any or all are not 0. Of u8 the result is u8, as in PyTorch; else bool.
PEL_API Tensor any(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                   Site site = Site::current());
PEL_API Tensor all(const Tensor& self, Axes axes = {}, KeepDims keep = KeepDims::No,
                   Site site = Site::current());
// Squares of differences from the mean, over count - correction: two passes.
PEL_API Tensor var(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                   KeepDims keep = KeepDims::No, Site site = Site::current());
// Its square root; PyTorch calls it std.
PEL_API Tensor stddev(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                      KeepDims keep = KeepDims::No, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                                            KeepDims keep = KeepDims::No, Site site = Site::current());
// (sum |x|^p)^(1/p); the greatest or least |x| for p = ±infinity, the number of non-zeros for p = 0.
PEL_API Tensor norm(const Tensor& self, const Scalar& p = 2, Axes axes = {}, KeepDims keep = KeepDims::No,
                    std::optional<DType> dtype = std::nullopt, Site site = Site::current());
// (sum |a - b|^p)^(1/p) of every row a of x1 and every row b of x2, as norm; batches broadcast. It is always
// computed from differences; compute_mode is PyTorch's.
PEL_API Tensor _cdist_forward(const Tensor& x1, const Tensor& x2, double p = 2,
                              std::optional<std::int64_t> compute_mode = std::nullopt,
                              Site site = Site::current());
// The same of each pair of rows of one matrix, in the order of its upper triangle.
PEL_API Tensor _pdist_forward(const Tensor& self, double p = 2, Site site = Site::current());
// log(sum e^x), without overflow. Integers count as f32.
PEL_API Tensor logsumexp(const Tensor& self, Axes axes, KeepDims keep = KeepDims::No,
                         Site site = Site::current());

}  // namespace pel

// Reductions over any axes. The order of a reduction depends on the sizes of the reduced axes alone; f16 and
// bf16 are computed in f32 and rounded once.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

enum class KeepDims : bool { No, Yes };

// Over `axes`; none means all. The result of integers and bool is i64 unless a dtype is passed.
PEL_API Tensor sum(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                   std::optional<DType> dtype = std::nullopt, Site site = Site::current());
PEL_API Tensor prod(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                    KeepDims keepdim = KeepDims::No, std::optional<DType> dtype = std::nullopt,
                    Site site = Site::current());
PEL_API Tensor count_nonzero(const Tensor& self, Axes axes = {}, Site site = Site::current());
// Floating dtypes, or with a floating `dtype`.
PEL_API Tensor mean(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                    std::optional<DType> dtype = std::nullopt, Site site = Site::current());
// NaN if an element is NaN.
PEL_API Tensor amax(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                    Site site = Site::current());
PEL_API Tensor amin(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                    Site site = Site::current());
// amin and amax.
PEL_API std::tuple<Tensor, Tensor> aminmax(const Tensor& self,
                                           std::optional<std::int64_t> axis = std::nullopt,
                                           KeepDims keepdim = KeepDims::No, Site site = Site::current());
// The index of the first max or min; without an axis, in the flattened tensor.
PEL_API Tensor argmax(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                      KeepDims keepdim = KeepDims::No, Site site = Site::current());
PEL_API Tensor argmin(const Tensor& self, std::optional<std::int64_t> axis = std::nullopt,
                      KeepDims keepdim = KeepDims::No, Site site = Site::current());
// Values and their indices.
PEL_API std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t axis, KeepDims keepdim = KeepDims::No,
                                       Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t axis, KeepDims keepdim = KeepDims::No,
                                       Site site = Site::current());
// Whether any or all elements are not 0. The result is bool, but u8 for u8, as in PyTorch.
PEL_API Tensor any(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                   Site site = Site::current());
PEL_API Tensor all(const Tensor& self, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                   Site site = Site::current());
// The sum of squared differences from the mean, divided by count - correction: two passes.
PEL_API Tensor var(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                   KeepDims keepdim = KeepDims::No, Site site = Site::current());
// Its square root; PyTorch calls it std.
PEL_API Tensor stddev(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                      KeepDims keepdim = KeepDims::No, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Axes axes = {}, const Scalar& correction = 1,
                                            KeepDims keepdim = KeepDims::No, Site site = Site::current());
// (sum |x|^p)^(1/p); the max or min of |x| for p = ±infinity, the number of nonzeros for p = 0.
PEL_API Tensor norm(const Tensor& self, const Scalar& p = 2, Axes axes = {}, KeepDims keepdim = KeepDims::No,
                    std::optional<DType> dtype = std::nullopt, Site site = Site::current());
// log(sum e^x), without overflow. Integers count as f32.
PEL_API Tensor logsumexp(const Tensor& self, Axes axes, KeepDims keepdim = KeepDims::No,
                         Site site = Site::current());

}  // namespace pel

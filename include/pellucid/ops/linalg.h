// Matrix multiplication. Names and semantics are PyTorch's. Operands have one dtype; f16 and bf16 are
// multiplied exactly, accumulate in f32 and round once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pellucid/enum_names.h"
#include "pellucid/tensor.h"

namespace pel {

// [m, k] by [k, n], and a batch of them.
PEL_API Tensor mm(const Tensor& self, const Tensor& mat2, Site site = Site::current());
PEL_API Tensor bmm(const Tensor& self, const Tensor& mat2, Site site = Site::current());
// beta self + alpha (mat1 mat2), in one kernel; self broadcasts to the result. With beta 0 self is not read.
PEL_API Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
                     const Scalar& alpha = 1, Site site = Site::current());
PEL_API Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                       const Scalar& alpha = 1, Site site = Site::current());
// A matmul for each group, PyTorch's _grouped_mm. offs, a vector of i32, has the end of each group. Rows of
// self are grouped in [m, k] by [groups, k, n], columns of mat2 in [groups, m, k] by [k, n], and the inner
// axis in [m, k] by [k, n], whose result is [groups, m, n]. Two batches need no offs. Each part has the bits
// of mm; what lies after the last group is 0 in the result. bias and another out_dtype are refused.
PEL_API Tensor grouped_mm(const Tensor& self, const Tensor& mat2,
                          const std::optional<Tensor>& offs = std::nullopt,
                          const std::optional<Tensor>& bias = std::nullopt,
                          std::optional<DType> out_dtype = std::nullopt, Site site = Site::current());
// [m, k] by [k].
PEL_API Tensor mv(const Tensor& self, const Tensor& vec, Site site = Site::current());
// The dot product of two vectors, a reduction; and their outer product.
PEL_API Tensor dot(const Tensor& self, const Tensor& tensor, Site site = Site::current());
PEL_API Tensor outer(const Tensor& self, const Tensor& vec2, Site site = Site::current());
// Vectors, matrices and batches of them, whose leading axes broadcast: dot, mv, mm or bmm.
PEL_API Tensor matmul(const Tensor& self, const Tensor& other, Site site = Site::current());
// input weight^T + bias, where weight is [out, in]: t and addmm, so one kernel.
PEL_API Tensor linear(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Site site = Site::current());
// activation(linear(input, weight, bias)) + residual in one kernel, with the bits of these ops. The residual
// has the result's sizes.
enum class LinearActivation : std::uint8_t { None, Gelu, GeluTanh, Silu, Relu };
template <>
inline constexpr EnumNames<5> enum_names<LinearActivation> = {"activation",
                                                              {"none", "gelu", "gelu_tanh", "silu", "relu"}};
PEL_API Tensor fused_linear(const Tensor& input, const Tensor& weight,
                            const std::optional<Tensor>& bias = std::nullopt,
                            LinearActivation activation = LinearActivation::None,
                            const std::optional<Tensor>& residual = std::nullopt,
                            Site site = Site::current());
// "bij,bjk->bik": axes with the same letter are multiplied elementwise; letters that the result lacks are
// summed over. `...` stands for axes that broadcast. Operands are multiplied from left to right.
PEL_API Tensor einsum(std::string_view equation, ArrayView<Tensor> tensors, Site site = Site::current());

}  // namespace pel

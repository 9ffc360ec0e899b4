// Activations.
// Names, semantics and type promotion are PyTorch's; sizes broadcast. pointwise_forms.h explains PEL_UNARY
// and PEL_BINARY.
#pragma once

#include <cstdint>

#include "pellucid/enum_names.h"
#include "pellucid/ops/pointwise_forms.h"

namespace pel {

PEL_UNARY(sigmoid)  // 1 / (1 + e^-x)

// Activations. Floating dtypes only, but for relu, relu6, hardtanh and threshold, which take integers, and
// softsign and tanhshrink, which are floating.
PEL_UNARY(relu)   // max(x, 0)
PEL_UNARY(relu6)  // x within [0, 6]
PEL_UNARY(silu)   // x sigmoid(x)
PEL_UNARY(mish)   // x tanh(softplus(x))
PEL_UNARY(selu)
PEL_UNARY(hardsigmoid)
PEL_UNARY(hardswish)
PEL_UNARY_OUT(log_sigmoid)
PEL_UNARY_OUT(softsign)    // x / (1 + |x|)
PEL_UNARY_OUT(tanhshrink)  // x - tanh(x)
// x times the normal distribution function, or times its approximation by a tanh.
enum class GeluApproximate : std::uint8_t { None, Tanh };
template <>
inline constexpr EnumNames<2> enum_names<GeluApproximate> = {"approximate", {"none", "tanh"}};
PEL_API Tensor gelu(const Tensor& self, GeluApproximate approximate = GeluApproximate::None,
                    Site site = Site::current());
PEL_API const Tensor& gelu_(const Tensor& self, GeluApproximate approximate = GeluApproximate::None,
                            Site site = Site::current());
PEL_API const Tensor& gelu_out(const Tensor& out, const Tensor& self,
                               GeluApproximate approximate = GeluApproximate::None,
                               Site site = Site::current());
// gelu(gate) up and silu(gate) up in one kernel: what gated MLPs compute between their matmuls.
PEL_API Tensor geglu(const Tensor& gate, const Tensor& up,
                     GeluApproximate approximate = GeluApproximate::None, Site site = Site::current());
PEL_API Tensor swiglu(const Tensor& gate, const Tensor& up, Site site = Site::current());
// log(1 + e^(beta x)) / beta; x if beta x is above the threshold.
PEL_API Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20,
                        Site site = Site::current());
PEL_API const Tensor& softplus_out(const Tensor& out, const Tensor& self, const Scalar& beta = 1,
                                   const Scalar& threshold = 20, Site site = Site::current());
// scale x, below 0 scale alpha (e^(input_scale x) - 1).
PEL_API Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
                   const Scalar& input_scale = 1, Site site = Site::current());
PEL_API const Tensor& elu_(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
                           const Scalar& input_scale = 1, Site site = Site::current());
PEL_API const Tensor& elu_out(const Tensor& out, const Tensor& self, const Scalar& alpha = 1,
                              const Scalar& scale = 1, const Scalar& input_scale = 1,
                              Site site = Site::current());
// x, below 0 alpha (e^(x / alpha) - 1).
PEL_API Tensor celu(const Tensor& self, const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& celu_(const Tensor& self, const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& celu_out(const Tensor& out, const Tensor& self, const Scalar& alpha = 1,
                               Site site = Site::current());
// x, below 0 negative_slope x.
PEL_API Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01,
                          Site site = Site::current());
PEL_API const Tensor& leaky_relu_(const Tensor& self, const Scalar& negative_slope = 0.01,
                                  Site site = Site::current());
PEL_API const Tensor& leaky_relu_out(const Tensor& out, const Tensor& self,
                                     const Scalar& negative_slope = 0.01, Site site = Site::current());
// x above the threshold, value elsewhere.
PEL_API Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value,
                         Site site = Site::current());
PEL_API const Tensor& threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value,
                                 Site site = Site::current());
PEL_API const Tensor& threshold_out(const Tensor& out, const Tensor& self, const Scalar& threshold,
                                    const Scalar& value, Site site = Site::current());
// x within [min_val, max_val].
PEL_API Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1,
                        Site site = Site::current());
PEL_API const Tensor& hardtanh_(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1,
                                Site site = Site::current());
PEL_API const Tensor& hardtanh_out(const Tensor& out, const Tensor& self, const Scalar& min_val = -1,
                                   const Scalar& max_val = 1, Site site = Site::current());
// 0 within [-lambd, lambd]; elsewhere x, or for softshrink x moved towards 0 by lambd.
PEL_API Tensor hardshrink(const Tensor& self, const Scalar& lambd = 0.5, Site site = Site::current());
PEL_API const Tensor& hardshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd = 0.5,
                                     Site site = Site::current());
PEL_API Tensor softshrink(const Tensor& self, const Scalar& lambd = 0.5, Site site = Site::current());
PEL_API const Tensor& softshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd = 0.5,
                                     Site site = Site::current());

}  // namespace pel

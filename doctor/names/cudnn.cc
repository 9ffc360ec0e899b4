// cuDNN: norms, transforms of layouts, convolutions without tensor cores, and what surrounds convolutions.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kCudnn[] = {
    {"bn_fw_*", Family::Norm, "batch_norm"},
    {"bn_bw_*", Family::Norm, "batch_norm"},
    {"batchnorm_*", Family::Norm, "batch_norm"},
    {"*nchwToNhwcKernel*", Family::Copy, "nchw to nhwc"},
    {"*nhwcToNchwKernel*", Family::Copy, "nhwc to nchw"},
    {"*nchwToFoldedNhwcKernel*", Family::Copy, "nchw to nhwc"},
    {"*nhwcToFoldedNhwcKernel*", Family::Copy, "nhwc to nhwc"},
    {"tensorTransformGeneric*", Family::Copy, "transform"},
    {"scalePackedTensor_kernel*", Family::Elementwise, "scale"},
    {"scaleTensor_kernel*", Family::Elementwise, "scale"},
    {"add_tensor_kernel*", Family::Elementwise, "add"},
    {"op_generic_tensor_kernel*", Family::Elementwise, "op"},
    {"op_tensor_kernel*", Family::Elementwise, "op"},
    {"activation_fw*", Family::Elementwise, "activation"},
    {"activation_bw*", Family::Elementwise, "activation"},
    {"softmax_fw_*", Family::Softmax, "softmax"},
    {"softmax_bw_*", Family::Softmax, "softmax"},
    {"pooling_fw_*", Family::Pooling, "pool"},
    {"pooling_bw_*", Family::Pooling, "pool"},
    {"im2col*", Family::ConvolutionHelper, "im2col"},
    {"reduce_wgrad_*", Family::ConvolutionHelper, "sum of weights' gradients"},
    {"compute*OffsetsKernel*", Family::ConvolutionHelper, "offsets"},
    {"winograd*Data*", Family::ConvolutionHelper, "Winograd transform"},
    {"winograd*Filter*", Family::ConvolutionHelper, "Winograd transform"},
    {"winograd*Output*", Family::ConvolutionHelper, "Winograd transform"},
    {"winograd*Delta*", Family::ConvolutionHelper, "Winograd transform"},
    {"generateWinogradTilesKernel", Family::ConvolutionHelper, "Winograd transform"},
    {"fft1d_*", Family::ConvolutionHelper, "Fourier transform"},
    {"fft2d_*", Family::ConvolutionHelper, "Fourier transform"},
    {"compute_gemm_pointers", Family::ConvolutionHelper, "pointers"},
    {"flip_filter", Family::ConvolutionHelper, "flipped filter"},
    {"dgrad_engine*", Family::Convolution, ""},
    {"dgrad2d_*", Family::Convolution, ""},
    {"wgrad_alg*_engine*", Family::Convolution, ""},
    {"wgrad2d_*", Family::Convolution, ""},
    {"implicit_convolve_*gemm*", Family::Convolution, ""},
    {"explicit_convolve_*gemm*", Family::Convolution, ""},
    {"conv2d_*", Family::Convolution, ""},
    {"convolve_*", Family::Convolution, ""},
    {"kern_precompute_indices*", Family::ConvolutionHelper, "offsets"},
};

}  // namespace

bool decode_cudnn(const NameText& name, KernelName& out) {
  if (name.scope.starts_with("at::") || !say_known(kCudnn, name, "cuDNN", out)) return false;
  say_value_dtype(name.dtypes_from(0), out);
  if (*out.family == Family::Convolution) {
    out.tensor_cores.guess(false);
    out.layout.guess("nchw");
    if (out.a) out.b = out.c = out.a;
  }
  return true;
}

}  // namespace pel::doctor::names

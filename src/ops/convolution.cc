// Sums of products over a window that moves along the spatial axes; or, transposed, what flows back through
// that.
#include "ops/family_convolution.h"

namespace pel {
namespace {

Tensor convolution_body(const Op& op, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, Axes stride, Axes padding, Axes dilation,
                        Transposed transposed, Axes output_padding, std::int64_t groups) {
  return run_convolution(op, input, weight, bias,
                         {stride, padding, dilation, transposed, output_padding, groups});
}

}  // namespace

namespace ops {
OpDef define_convolution() {
  return define_op<convolution_body>(
             OpKind::Kernel,
             "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
             "dilation, bool transposed, int[] output_padding, int groups) -> Tensor")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Axes stride,
                   Axes padding, Axes dilation, Transposed transposed, Axes output_padding,
                   std::int64_t groups, Site site) {
  return call<"convolution", convolution_body>(site, input, weight, bias, stride, padding, dilation,
                                               transposed, output_padding, groups);
}

}  // namespace pel

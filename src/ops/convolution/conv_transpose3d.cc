// A transposed convolution over three spatial axes.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv_transpose3d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                             Ints stride, Ints padding, Dims output_padding, std::int64_t groups,
                             Ints dilation) {
  return convolve(input, weight, bias, 3,
                  {stride, padding, dilation, Transposed::Yes, output_padding, groups});
}

}  // namespace

namespace ops {
OpDef define_conv_transpose3d() {
  return define_op<conv_transpose3d_body>(
             OpKind::Composite,
             "conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
             "padding=[0], "
             "Dim[] output_padding=[0], int groups=1, int[] dilation=[1]) -> Tensor")
      .samples([](Sampler& s) { return SampleCalls{{s({1, 1, 2, 2, 2}), s({1, 1, 2, 2, 2}), s({1})}}; });
}
}  // namespace ops

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        Ints stride, Ints padding, Dims output_padding, std::int64_t groups, Ints dilation,
                        Site site) {
  return call<"conv_transpose3d", conv_transpose3d_body>(site, input, weight, bias, stride, padding,
                                                         output_padding, groups, dilation);
}

}  // namespace pel

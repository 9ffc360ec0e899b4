// A transposed convolution over one spatial axis.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv_transpose1d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                             Ints stride, Ints padding, Dims output_padding, std::int64_t groups,
                             Ints dilation) {
  return convolve(input, weight, bias, 1,
                  {stride, padding, dilation, Transposed::Yes, output_padding, groups});
}

}  // namespace

namespace ops {
OpDef define_conv_transpose1d() {
  return define_op<conv_transpose1d_body>(
             OpKind::Composite,
             "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
             "padding=[0], "
             "Dim[] output_padding=[0], int groups=1, int[] dilation=[1]) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 2, 4}), s({2, 2, 3}), s({2}), std::vector<Dim>{2}, std::vector<Dim>{1},
                            std::vector<Dim>{1}}};
      });
}
}  // namespace ops

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        Ints stride, Ints padding, Dims output_padding, std::int64_t groups, Ints dilation,
                        Site site) {
  return call<"conv_transpose1d", conv_transpose1d_body>(site, input, weight, bias, stride, padding,
                                                         output_padding, groups, dilation);
}

}  // namespace pel

// A transposed convolution over two spatial axes.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv_transpose2d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                             Ints stride, Ints padding, Dims output_padding, std::int64_t groups,
                             Ints dilation) {
  return convolve(input, weight, bias, 2,
                  {stride, padding, dilation, Transposed::Yes, output_padding, groups});
}

}  // namespace

namespace ops {
OpDef define_conv_transpose2d() {
  return define_op<conv_transpose2d_body>(
             OpKind::Composite,
             "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
             "padding=[0], "
             "Dim[] output_padding=[0], int groups=1, int[] dilation=[1]) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 2, 2, 3}), s({2, 1, 2, 2}), s({2}), std::vector<Dim>{1},
                            std::vector<Dim>{0}, std::vector<Dim>{0}, Dim(2)}};
      });
}
}  // namespace ops

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        Ints stride, Ints padding, Dims output_padding, std::int64_t groups, Ints dilation,
                        Site site) {
  return call<"conv_transpose2d", conv_transpose2d_body>(site, input, weight, bias, stride, padding,
                                                         output_padding, groups, dilation);
}

}  // namespace pel

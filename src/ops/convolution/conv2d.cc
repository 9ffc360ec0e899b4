// A convolution over two spatial axes.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv2d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
                   Ints padding, Ints dilation, std::int64_t groups) {
  return convolve(input, weight, bias, 2, {stride, padding, dilation, Transposed::No, {0}, groups});
}

}  // namespace

namespace ops {
OpDef define_conv2d() {
  return define_op<conv2d_body>(OpKind::Composite,
                                "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], "
                                "int[] padding=[0], int[] dilation=[1], int groups=1) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({1, 2, 3, 4}), s({2, 2, 2, 2}), s({2})},
            {s({1, 4, 4}), s({1, 1, 3, 3}), Value(), std::vector<Dim>{2}, std::vector<Dim>{1}}};
      });
}
}  // namespace ops

Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
              Ints padding, Ints dilation, std::int64_t groups, Site site) {
  return call<"conv2d", conv2d_body>(site, input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace pel

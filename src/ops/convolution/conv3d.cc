// A convolution over three spatial axes.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv3d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
                   Ints padding, Ints dilation, std::int64_t groups) {
  return convolve(input, weight, bias, 3, {stride, padding, dilation, Transposed::No, {0}, groups});
}

}  // namespace

namespace ops {
OpDef define_conv3d() {
  return define_op<conv3d_body>(OpKind::Composite,
                                "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], "
                                "int[] padding=[0], int[] dilation=[1], int groups=1) -> Tensor")
      .samples([](Sampler& s) { return SampleCalls{{s({1, 1, 3, 2, 3}), s({2, 1, 2, 2, 2}), s({2})}}; });
}
}  // namespace ops

Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
              Ints padding, Ints dilation, std::int64_t groups, Site site) {
  return call<"conv3d", conv3d_body>(site, input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace pel

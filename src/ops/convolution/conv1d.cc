// A convolution over one spatial axis.
#include "ops/shared/convolution.h"

namespace pel {
namespace {

Tensor conv1d_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
                   Ints padding, Ints dilation, std::int64_t groups) {
  return convolve(input, weight, bias, 1, {stride, padding, dilation, Transposed::No, {0}, groups});
}

}  // namespace

namespace ops {
OpDef define_conv1d() {
  return define_op<conv1d_body>(OpKind::Composite,
                                "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], "
                                "int[] padding=[0], int[] dilation=[1], int groups=1) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 2, 5}), s({2, 2, 3}), s({2})},
                           {s({2, 5}), s({2, 1, 2}), Value(), std::vector<Dim>{2}, std::vector<Dim>{1},
                            std::vector<Dim>{2}, Dim(2)}};
      });
}
}  // namespace ops

Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
              Ints padding, Ints dilation, std::int64_t groups, Site site) {
  return call<"conv1d", conv1d_body>(site, input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace pel

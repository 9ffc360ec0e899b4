// Convolution: sums of products over a window that moves along the spatial axes; transposed: its gradient
// with respect to the input.
#include "ops/shared/convolution.h"

#include "pellucid/ops/internal.h"

namespace pel {
namespace {

Tensor convolution_body(const Op& op, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, Ints stride, Ints padding, Ints dilation,
                        Transposed transposed, Dims output_padding, std::int64_t groups) {
  return run_convolution(op, input, weight, bias,
                         {stride, padding, dilation, transposed, output_padding, groups});
}

}  // namespace

namespace ops {
OpDef define_convolution() {
  return define_op<convolution_body>(
             OpKind::Kernel,
             "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
             "dilation, bool transposed, Dim[] output_padding, int groups) -> Tensor")
      .autocast(CastRule::Lower)
      .dtypes(kFloating | kIntegral)
      .vjp("input weight bias", "input weight stride padding dilation transposed output_padding groups",
           [](const Vjp& v) {
             const auto [input, weight, bias] = internal::convolution_backward(
                 v.grad(), v["input"], v["weight"], std::nullopt, v.get<Ints>("stride"),
                 v.get<Ints>("padding"), v.get<Ints>("dilation"), v.get<Transposed>("transposed"),
                 v.get<Dims>("output_padding"), v.get<std::int64_t>("groups"),
                 {v.wants("input"), v.wants("weight"), v.wants("bias")});
             return std::vector<Tensor>{input, weight, bias};
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 5}), s({2, 2, 2}), s({2}), Numbers{2}, Numbers{1}, Numbers{1}, false,
                            Numbers{0}, Dim(1)},
                           {s({2, 2, 3, 3}), s({2, 1, 2, 2}), Value(), Numbers{1, 1}, Numbers{0, 1},
                            Numbers{1, 2}, false, Numbers{0, 0}, Dim(2)},
                           {s({1, 2, 2, 3}), s({2, 2, 2, 2}), s({2}), Numbers{2, 1}, Numbers{1, 0},
                            Numbers{1, 1}, true, Numbers{1, 0}, Dim(1)},
                           {s({1, 2, 3}), s({2, 1, 2}), s({2}), Numbers{1}, Numbers{0}, Numbers{2}, true,
                            Numbers{0}, Dim(2)}};
      });
}
}  // namespace ops

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Ints stride,
                   Ints padding, Ints dilation, Transposed transposed, Dims output_padding,
                   std::int64_t groups, Site site) {
  return call<"convolution", convolution_body>(site, input, weight, bias, stride, padding, dilation,
                                               transposed, output_padding, groups);
}

}  // namespace pel

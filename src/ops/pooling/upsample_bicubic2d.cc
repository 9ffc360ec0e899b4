// An image of another size: each pixel is made of the sixteen around it, by cubic convolution with a = -0.75.
#include "ops/shared/upsample.h"

namespace pel {
namespace {

Tensor upsample_bicubic2d_body(const Op& op, const Tensor& self, Dims output_size, AlignCorners align_corners,
                               std::optional<double> scales_h, std::optional<double> scales_w) {
  return run_upsample(op, self, output_size, {Resampling::Bicubic, align_corners, scales_h, scales_w});
}

}  // namespace

namespace ops {
OpDef define_upsample_bicubic2d() {
  return define_op<upsample_bicubic2d_body>(OpKind::Kernel,
                                            "upsample_bicubic2d(Tensor self, Dim[] output_size, bool "
                                            "align_corners, float? scales_h=None, float? "
                                            "scales_w=None) -> Tensor")
      .dtypes(kFloating)
      .vjp("self", "align_corners scales_h scales_w",
           [](const Vjp& v) {
             return upsample_gradient(v, [&](const Tensor& image, Dims sizes, std::optional<double> scale_w) {
               return upsample_bicubic2d(image, sizes, v.get<AlignCorners>("align_corners"), std::nullopt,
                                         scale_w);
             });
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 3, 2}), Numbers{5, 4}, false},
                           {s({1, 1, 3, 4}), Numbers{5, 2}, true},
                           {s({1, 1, 3, 3}), Numbers{4, 5}, false, 1.5, 1.8}};
      });
}
}  // namespace ops

Tensor upsample_bicubic2d(const Tensor& self, Dims output_size, AlignCorners align_corners,
                          std::optional<double> scales_h, std::optional<double> scales_w, Site site) {
  return call<"upsample_bicubic2d", upsample_bicubic2d_body>(site, self, output_size, align_corners, scales_h,
                                                             scales_w);
}

}  // namespace pel

// An image of another size: each pixel is made of the sixteen around it, by cubic convolution with a = -0.75.
#include "ops/family_upsample.h"

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
      .dtypes(kFloating);
}
}  // namespace ops

Tensor upsample_bicubic2d(const Tensor& self, Dims output_size, AlignCorners align_corners,
                          std::optional<double> scales_h, std::optional<double> scales_w, Site site) {
  return call<"upsample_bicubic2d", upsample_bicubic2d_body>(site, self, output_size, align_corners, scales_h,
                                                             scales_w);
}

}  // namespace pel

// An image of another size: each pixel is made of the nearest one to its left and above.
#include "ops/shared/upsample.h"

namespace pel {
namespace {

Tensor upsample_nearest2d_body(const Op& op, const Tensor& self, Dims output_size,
                               std::optional<double> scales_h, std::optional<double> scales_w) {
  return run_upsample(op, self, output_size, {Resampling::Nearest, AlignCorners::No, scales_h, scales_w});
}

}  // namespace

namespace ops {
OpDef define_upsample_nearest2d() {
  return define_op<upsample_nearest2d_body>(
             OpKind::Kernel,
             "upsample_nearest2d(Tensor self, Dim[] output_size, float? scales_h=None, float? "
             "scales_w=None) -> Tensor")
      .dtypes(kFloating | DTypeSet{kU8})
      .vjp("self", "scales_h scales_w",
           [](const Vjp& v) {
             return upsample_gradient(v, [](const Tensor& image, Dims sizes, std::optional<double> scale_w) {
               return upsample_nearest2d(image, sizes, std::nullopt, scale_w);
             });
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 3, 2}), Numbers{5, 4}}, {s({1, 1, 3, 3}), Numbers{4, 5}, 1.5, 1.8}};
      });
}
}  // namespace ops

Tensor upsample_nearest2d(const Tensor& self, Dims output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w, Site site) {
  return call<"upsample_nearest2d", upsample_nearest2d_body>(site, self, output_size, scales_h, scales_w);
}

}  // namespace pel

// The mean of each window over three spatial axes.
#include "pellucid/ops.h"

#include "ops/shared/pool.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor avg_pool3d_body(const Op& op, const Tensor& self, Ints kernel_size, Ints stride, Ints padding,
                       CeilMode ceil_mode, CountIncludePad count_include_pad,
                       std::optional<std::int64_t> divisor_override) {
  return run_avg_pool(op, self, 3, {kernel_size, stride, padding, {1}, ceil_mode},
                      {count_include_pad, divisor_override});
}

// Means of boxes are means along one axis after another: what one axis does to the rows of the unit matrix is
// what the gradient is multiplied by.
Tensor gradient(const Vjp& v) {
  const Dims sizes = v.sizes("self");
  const SpatialNumbers kernel = per_axis("kernel_size", v.get<Ints>("kernel_size"), 3, 1);
  const std::vector<std::int64_t> given = v.get<Ints>("stride");
  const SpatialNumbers stride = given.empty() ? kernel : per_axis("stride", given, 3, 1),
                       padding = per_axis("padding", v.get<Ints>("padding"), 3, 0);
  const auto divisor = v.get<std::optional<std::int64_t>>("divisor_override");
  std::vector<Tensor> matrices;
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor unit = eye(sizes[sizes.size() - 3 + i], std::nullopt, {v.grad().dtype(), v.grad().device()});
    const Tensor means = avg_pool2d(unit.unsqueeze(1), {1, kernel[i]}, {1, stride[i]}, {0, padding[i]},
                                    v.get<CeilMode>("ceil_mode"), v.get<CountIncludePad>("count_include_pad"),
                                    divisor ? std::optional<std::int64_t>(1) : std::nullopt);
    matrices.push_back(means.squeeze({1}).t());
  }
  return along_last_axes(scaled(v.grad(), 1 / static_cast<double>(divisor.value_or(1))), matrices);
}

}  // namespace

namespace ops {
OpDef define_avg_pool3d() {
  return define_op<avg_pool3d_body>(
             OpKind::Kernel,
             "avg_pool3d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], bool "
             "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI64})
      .vjp("self", "kernel_size stride padding ceil_mode count_include_pad divisor_override", gradient)
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 2, 4, 2}), Numbers{2}},
                           {s({1, 3, 4, 3}), Numbers{3, 2, 2}, Numbers{2}, Numbers{1}, true, false},
                           {s({1, 3, 4, 3}), Numbers{2}, Numbers{2}, Numbers{1}, true, true},
                           {s({1, 3, 4, 3}), Numbers{2}, Numbers{1}, Numbers{0}, false, true, Dim(5)}};
      });
}
}  // namespace ops

Tensor avg_pool3d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, CeilMode ceil_mode,
                  CountIncludePad count_include_pad, std::optional<std::int64_t> divisor_override,
                  Site site) {
  return call<"avg_pool3d", avg_pool3d_body>(site, self, kernel_size, stride, padding, ceil_mode,
                                             count_include_pad, divisor_override);
}

}  // namespace pel

// The max of each window over three spatial axes, and its index in the input.
#include "ops/shared/pool.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> max_pool3d_with_indices_body(const Op& op, const Tensor& self, Ints kernel_size,
                                                        Ints stride, Ints padding, Ints dilation,
                                                        CeilMode ceil_mode) {
  return run_max_pool(op, self, 3, {kernel_size, stride, padding, dilation, ceil_mode});
}

}  // namespace

namespace ops {
OpDef define_max_pool3d_with_indices() {
  return define_op<max_pool3d_with_indices_body>(
             OpKind::Kernel,
             "max_pool3d_with_indices(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], "
             "int[] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "result1", [](const Vjp& v) { return spread_by_indices(v, v["result1"], 3); })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s.apart({1, 2, 2, 3, 3}), Numbers{2}, Numbers{1}},
                           {s.apart({1, 3, 3, 4}), Numbers{3, 2, 2}, Numbers{2}, Numbers{1}}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, Ints kernel_size, Ints stride,
                                                   Ints padding, Ints dilation, CeilMode ceil_mode,
                                                   Site site) {
  return call<"max_pool3d_with_indices", max_pool3d_with_indices_body>(site, self, kernel_size, stride,
                                                                       padding, dilation, ceil_mode);
}

}  // namespace pel

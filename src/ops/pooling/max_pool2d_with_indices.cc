// The max of each window over two spatial axes, and its index in the input.
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> max_pool2d_with_indices_body(const Op& op, const Tensor& self, Ints kernel_size,
                                                        Ints stride, Ints padding, Ints dilation,
                                                        CeilMode ceil_mode) {
  return run_max_pool(op, self, 2, {kernel_size, stride, padding, dilation, ceil_mode});
}

}  // namespace

namespace ops {
OpDef define_max_pool2d_with_indices() {
  return define_op<max_pool2d_with_indices_body>(
             OpKind::Kernel,
             "max_pool2d_with_indices(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], "
             "int[] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "kernel_size stride padding dilation ceil_mode result1",
           [](const Vjp& v) {
             return internal::max_pool2d_with_indices_backward(
                 v.grad(), stand_in_for_self(v), v.get<Ints>("kernel_size"), v.get<Ints>("stride"),
                 v.get<Ints>("padding"), v.get<Ints>("dilation"), v.get<CeilMode>("ceil_mode"), v["result1"]);
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{
            {s.apart({1, 2, 4, 4}), Numbers{2}},
            {s.apart({2, 5, 4}), Numbers{3, 2}, Numbers{2, 1}, Numbers{1, 0}, Numbers{1, 2}, true}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, Ints kernel_size, Ints stride,
                                                   Ints padding, Ints dilation, CeilMode ceil_mode,
                                                   Site site) {
  return call<"max_pool2d_with_indices", max_pool2d_with_indices_body>(site, self, kernel_size, stride,
                                                                       padding, dilation, ceil_mode);
}

}  // namespace pel

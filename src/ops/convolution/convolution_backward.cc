// The gradients of a convolution: each is a convolution itself, or a sum.
//
//   input    the transposed convolution of the gradient with the weight, and the other way round
//   weight   the input's channels become its batch, and the gradient slides over them as a kernel:
//            steps of the window become distances within it, and the other way round
//   bias     the sum over all but the channels
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/reductions.h"

#include "ops/shared/convolution.h"

namespace pel {
namespace {

struct Numbers {
  SpatialNumbers stride, padding, dilation;
  std::int64_t groups;
};

Tensor input_gradient(const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Numbers& n,
                      Transposed transposed) {
  const std::size_t axes = n.stride.size();
  DimVector more(axes);  // what the window did not reach at the end of the input
  if (transposed == Transposed::No) {
    for (std::size_t i = 0; i < axes; ++i) {
      const Dim reached = (grad_output.sizes()[2 + i] - 1) * n.stride[i] - 2 * n.padding[i] +
                          (weight.sizes()[2 + i] - 1) * n.dilation[i] + 1;
      more[i] = input.sizes()[2 + i] - reached;
      PEL_CHECK(more[i] >= 0 && more[i] < n.stride[i], ShapeError,
                "no convolution of the input {} with the weight {} has the gradient's sizes {}",
                describe(input), describe(weight), to_string(grad_output.sizes()));
    }
  }
  const auto other = transposed == Transposed::Yes ? Transposed::No : Transposed::Yes;
  Tensor result =
      convolution(grad_output, weight, std::nullopt, n.stride, n.padding, n.dilation, other, more, n.groups);
  // A window also begins in what output_padding has added.
  for (std::size_t i = 0; transposed == Transposed::Yes && i < axes; ++i)
    result = result.narrow(static_cast<std::int64_t>(2 + i), 0, input.sizes()[2 + i]);
  return result;
}

// The gradient of the weight, [out, in / groups, kernel…], from that of the result.
Tensor weight_gradient(const Tensor& input, const Tensor& grad, Dims kernel, const Numbers& n) {
  const std::size_t axes = n.stride.size();
  const Dim batch = input.sizes()[0], channels = input.sizes()[1] / n.groups;
  // [batch, groups, channels, …] to [channels, groups batch, …]
  DimVector grouped{batch, n.groups, channels}, as_batch{channels, batch * n.groups};
  std::vector<std::int64_t> order = {2, 1, 0};
  for (std::size_t i = 0; i < axes; ++i) {
    grouped.push_back(input.sizes()[2 + i]);
    as_batch.push_back(input.sizes()[2 + i]);
    order.push_back(static_cast<std::int64_t>(3 + i));
  }
  const Tensor images =
      n.groups == 1 ? input.transpose(0, 1) : input.reshape(grouped).permute(order).reshape(as_batch);
  const DimVector none(axes);
  Tensor result = convolution(images, grad.transpose(0, 1), std::nullopt, n.dilation, n.padding, n.stride,
                              Transposed::No, none, n.groups)
                      .transpose(0, 1);
  // Steps that the window never made.
  for (std::size_t i = 0; i < axes; ++i)
    result = result.narrow(static_cast<std::int64_t>(2 + i), 0, kernel[2 + i]);
  return result.contiguous();
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_body(const Tensor& grad_output, const Tensor& input,
                                                             const Tensor& weight, std::optional<Dims>,
                                                             Ints stride, Ints padding, Ints dilation,
                                                             Transposed transposed, Dims, std::int64_t groups,
                                                             OutputMask<3> output_mask) {
  const auto rank = input.dim();
  PEL_CHECK(rank >= 3 && rank <= 2 + kMaxSpatialAxes && weight.dim() == rank && grad_output.dim() == rank,
            ShapeError, "input {}, weight {} and gradient {} have three to five axes, as many each",
            describe(input), describe(weight), describe(grad_output));
  const auto axes = static_cast<std::size_t>(rank) - 2;
  const Numbers n{per_axis("stride", stride, axes, 1), per_axis("padding", padding, axes, 0),
                  per_axis("dilation", dilation, axes, 1), groups};
  std::tuple<Tensor, Tensor, Tensor> result;
  if (output_mask[0]) std::get<0>(result) = input_gradient(grad_output, input, weight, n, transposed);
  if (output_mask[1]) {
    const bool is_transposed = transposed == Transposed::Yes;
    std::get<1>(result) = weight_gradient(is_transposed ? grad_output : input,
                                          is_transposed ? input : grad_output, weight.sizes(), n);
  }
  if (output_mask[2]) {
    std::vector<std::int64_t> others = {0};
    for (std::int64_t i = 2; i < rank; ++i) others.push_back(i);
    std::get<2>(result) = sum(grad_output, others);
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_convolution_backward() {
  return define_op<convolution_backward_body>(
             OpKind::Composite,
             "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, Dim[]? bias_sizes, int[] "
             "stride, "
             "int[] padding, int[] dilation, bool transposed, Dim[] output_padding, int groups, int[] "
             "output_mask=[1, 1, 1]) -> (Tensor, Tensor, Tensor)")
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 3}), s({1, 2, 5}), s({2, 2, 2}), Value(), Numbers{2}, Numbers{1},
                            Numbers{1}, false, Numbers{0}, Dim(1)},
                           {s({1, 2, 3, 2}), s({1, 2, 2, 2}), s({2, 1, 2, 1}), Value(), Numbers{1},
                            Numbers{0}, Numbers{1}, true, Numbers{0}, Dim(2)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                        const Tensor& weight, std::optional<Dims> bias_sizes,
                                                        Ints stride, Ints padding, Ints dilation,
                                                        Transposed transposed, Dims output_padding,
                                                        std::int64_t groups, OutputMask<3> output_mask,
                                                        Site site) {
  return call<"convolution_backward", convolution_backward_body>(site, grad_output, input, weight, bias_sizes,
                                                                 stride, padding, dilation, transposed,
                                                                 output_padding, groups, output_mask);
}
}  // namespace internal

}  // namespace pel

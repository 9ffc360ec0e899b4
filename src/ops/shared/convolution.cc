#include "ops/shared/convolution.h"

#include "pellucid/ops.h"

namespace pel {
namespace {

void check_operands(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  for (const Tensor* t : {&weight, bias ? &*bias : &weight})
    PEL_CHECK(t->dtype() == input.dtype(), DTypeError,
              "input, weight and bias have one dtype; {} and {} do not: convert one of them", describe(input),
              describe(*t));
}

void check_channels(const Tensor& input, const Tensor& weight, const ConvolutionNumbers& numbers) {
  const std::int64_t groups = numbers.groups;
  PEL_CHECK(groups >= 1, ValueError, "groups must be at least 1, not {}", groups);
  const Dim channels = input.sizes()[1], first = weight.sizes()[0], second = weight.sizes()[1];
  PEL_CHECK(first % groups == 0, ShapeError, "the first axis of the weight {} is not a multiple of {} groups",
            describe(weight), groups);
  if (numbers.transposed == Transposed::Yes) {
    PEL_CHECK(channels == first, ShapeError,
              "the input {} has {} channels, the transposed weight {} takes {}: it is [in, out / groups, …]",
              describe(input), to_string(channels), describe(weight), to_string(first));
  } else {
    PEL_CHECK(
        channels == second * groups, ShapeError,
        "the input {} has {} channels, the weight {} takes {}: it is [out, in / groups, …], in {} groups",
        describe(input), to_string(channels), describe(weight), to_string(second * groups), groups);
  }
}

}  // namespace

Tensor run_convolution(const Op& op, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias, const ConvolutionNumbers& numbers) {
  const std::size_t rank = input.sizes().size();
  PEL_CHECK(rank >= 3 && rank <= 2 + kMaxSpatialAxes, ShapeError,
            "the input is [batch, channels, one to three spatial axes]; {} has {} axes", describe(input),
            rank);
  PEL_CHECK(weight.sizes().size() == rank, ShapeError,
            "the weight has as many axes as the input with its batch, {}; {} has {}", rank, describe(weight),
            weight.dim());
  check_operands(input, weight, bias);
  check_channels(input, weight, numbers);
  const std::size_t axes = rank - 2;
  const bool transposed = numbers.transposed == Transposed::Yes;
  const SpatialNumbers stride = per_axis("stride", numbers.stride, axes, 1),
                       padding = per_axis("padding", numbers.padding, axes, 0),
                       dilation = per_axis("dilation", numbers.dilation, axes, 1);
  const Dims more = numbers.output_padding;
  PEL_CHECK(more.size() == axes || more.size() == 1, ValueError,
            "output_padding has one number, or one for each of {} spatial axes; {} are given", axes,
            more.size());
  DimVector sizes(input.sizes());
  sizes[1] = transposed ? weight.sizes()[1] * numbers.groups : weight.sizes()[0];
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim size = input.sizes()[2 + i], kernel = weight.sizes()[2 + i];
    PEL_CHECK(kernel >= 1, ShapeError, "the kernel of the weight {} is empty along spatial axis {}",
              describe(weight), i);
    const Dim reach = (kernel - 1) * dilation[i] + 1;
    if (transposed) {
      const Dim added = more[more.size() == 1 ? 0 : i];
      PEL_CHECK(added >= 0, ValueError, "output_padding must be at least 0, not {}", to_string(added));
      PEL_CHECK(added < std::max(stride[i], dilation[i]), ValueError,
                "output_padding is less than stride or dilation; {} is neither less than {} nor than {}",
                to_string(added), stride[i], dilation[i]);
      sizes[2 + i] = (size - 1) * stride[i] - 2 * padding[i] + reach + added;
      PEL_CHECK(sizes[2 + i] >= 1, ShapeError,
                "nothing is left of spatial axis {}: {} elements of input, stride {}, padding {}, kernel {}",
                i, to_string(size), stride[i], padding[i], to_string(kernel));
    } else {
      const Dim padded = size + 2 * padding[i];
      PEL_CHECK(
          padded >= reach, ShapeError,
          "the kernel reaches over {} elements of spatial axis {}, the padded input has {}: pad it more",
          to_string(reach), i, to_string(padded));
      sizes[2 + i] = (padded - reach) / stride[i] + 1;
    }
  }
  if (bias) {
    PEL_CHECK(bias->dim() == 1 && bias->sizes()[0] == sizes[1], ShapeError,
              "the bias must have one number for each of {} channels of the result, not {}",
              to_string(sizes[1]), describe(*bias));
  }
  Tensor result = make_spatial(sizes, input, input.dtype());
  std::vector<Scalar> scalars = {numbers.groups, static_cast<std::int64_t>(transposed)};
  for (std::size_t i = 0; i < axes; ++i) {
    scalars.emplace_back(stride[i]);
    scalars.emplace_back(padding[i]);
    scalars.emplace_back(dilation[i]);
  }
  if (bias) {
    launch(op, {result}, {input, weight, *bias}, scalars);
  } else {
    launch(op, {result}, {input, weight}, scalars);
  }
  return result;
}

Tensor convolve(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                std::size_t axes, const ConvolutionNumbers& numbers) {
  const auto rank = static_cast<std::int64_t>(axes + 2);
  PEL_CHECK(weight.dim() == rank, ShapeError, "the weight has {} axes; {} has {}", rank, describe(weight),
            weight.dim());
  PEL_CHECK(input.dim() == rank || input.dim() == rank - 1, ShapeError,
            "the input has {} axes, or {} without a batch; {} has {}", rank, rank - 1, describe(input),
            input.dim());
  const bool batched = input.dim() == rank;
  const Tensor result =
      convolution(batched ? input : input.unsqueeze(0), weight, bias, numbers.stride, numbers.padding,
                  numbers.dilation, numbers.transposed, numbers.output_padding, numbers.groups);
  return batched ? result : result.squeeze({0});
}

}  // namespace pel

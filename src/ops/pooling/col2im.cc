// Columns of sliding blocks added up to an image: each element of the block is one strided slice of it.
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/pooling.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

void check_pair(Dims pair, const char* what) {
  PEL_CHECK(pair.size() == 2, ShapeError, "{} is one number for rows and one for columns, not {}", what,
            to_string(pair));
}

Tensor col2im_body(const Tensor& self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding,
                   Dims stride) {
  check_pair(output_size, "output_size");
  check_pair(kernel_size, "kernel_size");
  check_pair(dilation, "dilation");
  check_pair(padding, "padding");
  check_pair(stride, "stride");
  PEL_CHECK(self.dim() == 2 || self.dim() == 3, ShapeError,
            "columns are [samples, channels * block, blocks] or without samples, not {}", describe(self));
  const Tensor columns = self.dim() == 3 ? self : self.unsqueeze(0);
  const std::int64_t rows = kernel_size[0].value(), across = kernel_size[1].value();
  Dim blocks[2];
  for (std::size_t i = 0; i < 2; ++i) {
    PEL_CHECK(kernel_size[i] > 0 && dilation[i] > 0 && stride[i] > 0 && padding[i] >= 0, ValueError,
              "kernel_size {}, dilation {} and stride {} must be positive, and padding {} not negative",
              to_string(kernel_size), to_string(dilation), to_string(stride), to_string(padding));
    const Dim span = output_size[i] + padding[i] * 2 - dilation[i] * (kernel_size[i] - 1) - 1;
    PEL_CHECK(span >= 0, ShapeError, "a block of {} with dilation {} does not fit into {}",
              to_string(kernel_size), to_string(dilation), to_string(output_size));
    blocks[i] = span / stride[i] + 1;
  }
  const Dim block = Dim(rows * across), samples = columns.sizes()[0];
  PEL_CHECK(columns.sizes()[1] % block == 0 && columns.sizes()[2] == blocks[0] * blocks[1], ShapeError,
            "{} is not channels of {} elements each, for {} by {} blocks", describe(self), to_string(block),
            to_string(blocks[0]), to_string(blocks[1]));
  const Dim channels = columns.sizes()[1] / block;
  const Tensor places = reshape(columns, {samples, channels, rows, across, blocks[0], blocks[1]});
  const Tensor image =
      zeros({samples, channels, output_size[0] + padding[0] * 2, output_size[1] + padding[1] * 2},
            {self.dtype(), self.device()});
  const auto every = [&](const Tensor& t, std::size_t i, Dim place) {
    const Dim start = place * dilation[i];
    return slice(t, static_cast<std::int64_t>(i) + 2, start, start + stride[i] * (blocks[i] - 1) + 1,
                 stride[i]);
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < across; ++j)
      add_(every(every(image, 0, i), 1, j), select(select(places, 2, i), 2, j));
  }
  const Tensor cut = narrow(narrow(image, 2, padding[0], output_size[0]), 3, padding[1], output_size[1]);
  return (self.dim() == 3 ? cut : cut.squeeze(Axes({0}))).contiguous();
}

}  // namespace

namespace ops {
OpDef define_col2im() {
  return define_op<col2im_body>(OpKind::Composite,
                                "col2im(Tensor self, Dim[] output_size, Dim[] kernel_size, Dim[] dilation, "
                                "Dim[] padding, Dim[] stride) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 4, 6}), std::vector<Dim>{3, 4}, std::vector<Dim>{2, 2},
                            std::vector<Dim>{1, 1}, std::vector<Dim>{0, 0}, std::vector<Dim>{1, 1}},
                           {s({4, 4}), std::vector<Dim>{4, 4}, std::vector<Dim>{2, 2}, std::vector<Dim>{2, 1},
                            std::vector<Dim>{1, 0}, std::vector<Dim>{2, 2}}};
      });
}
}  // namespace ops

Tensor col2im(const Tensor& self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding,
              Dims stride, Site site) {
  return call<"col2im", col2im_body>(site, self, output_size, kernel_size, dilation, padding, stride);
}

}  // namespace pel

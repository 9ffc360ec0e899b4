// (self - mean) * scale + bias, with one of each for every channel.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/batch_norm.h"
#include "ops/shared/operands.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kBias };

// Rows are elements of one channel: of all samples where channels are innermost, else of one.
AxisSet row_axes(const Tensor& self) {
  const bool is_channels_last = is_literally(self.strides()[1], 1) || self.dim() == 2;
  return other_axes(self, is_channels_last ? kChannels : kChannels | 1);
}

Tensor batch_norm_apply_body(const Op& op, const Tensor& self, const Tensor& mean, const Tensor& scale,
                             const std::optional<Tensor>& bias) {
  check_channels(self);
  const RowsCall call{check_floating(self), row_axes(self), KeepDims::No, bias ? kBias : kPlain,
                      Layout::Keep};
  const Tensor means = vector_along(mean, self, 1), scales = vector_along(scale, self, 1);
  if (!bias) return run_rows(op, {self, means, scales}, call)[0];
  const Tensor biases = vector_along(*bias, self, 1);
  return run_rows(op, {self, means, scales, biases}, call)[0];
}

RowProgram::Wanted reference(const RowData& in, const RowParams&, int, std::size_t place) {
  const long double bias = in.size() > 3 ? in[3][place] : 0;
  const long double shifted = (in[0][place] - in[1][place]) * in[2][place];
  return {shifted + bias, std::abs(shifted) + std::abs(bias)};
}

}  // namespace

namespace ops {
OpDef define_batch_norm_apply() {
  return rows_op<batch_norm_apply_body>(
             "batch_norm_apply(Tensor self, Tensor mean, Tensor scale, Tensor? bias=None) -> Tensor")
      .inputs(3, 1)
      .computes(kFloating)
      .values_in(value_type)
      .max_ulp(2)
      .reference(reference)
      .gives_row([](const RowTerms& t) { return (t.in[0] - t.in[1]) * t.in[2]; })
      .program("bias")
      .inputs(4, 1)
      .gives_row([](const RowTerms& t) { return fma(t.in[0] - t.in[1], t.in[2], t.in[3]); })
      .vjp("self mean", "scale",
           [](const Vjp& v) {
             const std::int64_t rank = v.grad().dim();
             const Tensor to_self = v.grad() * along_channels(v["scale"], rank);
             return std::vector<Tensor>{
                 to_self, v.wants("mean") ? -sum(to_self, axes_except_channels(rank)) : Tensor()};
           })
      .vjp("scale", "self mean",
           [](const Vjp& v) {
             const std::int64_t rank = v.grad().dim();
             return sum(v.grad() * (v["self"] - along_channels(v["mean"], rank)), axes_except_channels(rank));
           })
      .vjp("bias", "", [](const Vjp& v) { return sum(v.grad(), axes_except_channels(v.grad().dim())); })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({2}), s({2})}, {s({2, 2, 3}), s({2}), s({2}), s({2})}};
      });
}
}  // namespace ops

namespace internal {
Tensor batch_norm_apply(const Tensor& self, const Tensor& mean, const Tensor& scale,
                        const std::optional<Tensor>& bias, Site site) {
  return call<"batch_norm_apply", batch_norm_apply_body>(site, self, mean, scale, bias);
}
}  // namespace internal

}  // namespace pel

// A border of one number, or of the tensor's own elements: mirrored, the outermost ones, or from the other
// end.
#include "ops/shared/pad.h"

#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/layout.h"

namespace pel {
namespace {

Tensor pad_body(const Op& op, const Tensor& self, Dims padding, PadMode mode, std::optional<Scalar> value) {
  PEL_CHECK(!value || mode == PadMode::Constant, ValueError, "the mode \"{}\" takes no value", name(mode));
  return make_padded(op, self, padding, mode, value.value_or(Scalar(0)));
}

// Each element of a border comes from one element: which, the padded numbers of the elements say, axis by
// axis.
Tensor pad_gradient(const Vjp& v) {
  const Dims padding = v.get<Dims>("pad"), sizes = v.sizes("self");
  const auto mode = v.get<PadMode>("mode");
  if (mode == PadMode::Constant) return constant_pad_nd(v.grad(), opposite(padding));
  Tensor grad = v.grad();
  DimVector now(grad.sizes());
  for (std::size_t i = 0; i < padding.size() / 2; ++i) {
    const std::size_t at = sizes.size() - 1 - i;
    now[at] = sizes[at];
    const Tensor numbers = arange(Scalar(sizes[at]), {kI64, grad.device()}).unsqueeze(0);
    const Tensor from = pad(numbers, {padding[2 * i], padding[2 * i + 1]}, mode);
    grad = selected_back(grad, now, static_cast<std::int64_t>(at), from);
  }
  return grad;
}

}  // namespace

namespace ops {
OpDef define_pad() {
  return define_op<pad_body>(OpKind::Kernel,
                             "pad(Tensor self, Dim[] pad, str mode='constant', Scalar? value=None) -> Tensor")
      .vjp("self", "pad mode", pad_gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{1, -1, 0, 2}, std::string("constant"), Scalar(2)},
                           {s({1, 4}), std::vector<Dim>{2, 1}, std::string("reflect")},
                           {s({1, 3, 4}), std::vector<Dim>{1, 2, 0, 1}, std::string("replicate")},
                           {s({1, 2, 3}), std::vector<Dim>{1, 3, 2, 0}, std::string("circular")}};
      });
}
}  // namespace ops

Tensor pad(const Tensor& self, Dims pad, PadMode mode, std::optional<Scalar> value, Site site) {
  return call<"pad", pad_body>(site, self, pad, mode, value);
}

}  // namespace pel

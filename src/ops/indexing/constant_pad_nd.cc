// A border of one number.
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/pad.h"

namespace pel {
namespace {

Tensor constant_pad_nd_body(const Op& op, const Tensor& self, Dims padding, const Scalar& value) {
  return make_padded(op, self, padding, PadMode::Constant, value);
}

}  // namespace

namespace ops {
OpDef define_constant_pad_nd() {
  return define_op<constant_pad_nd_body>(OpKind::Kernel,
                                         "constant_pad_nd(Tensor self, Dim[] pad, Scalar value=0) -> Tensor")
      .vjp("self", "pad",
           [](const Vjp& v) { return constant_pad_nd(v.grad(), opposite(v.get<Dims>("pad"))); })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{1, 2}},
                           {s({3, 4}), std::vector<Dim>{-1, 1, 2, -1}, Scalar(0.5)}};
      });
}
}  // namespace ops

Tensor constant_pad_nd(const Tensor& self, Dims pad, const Scalar& value, Site site) {
  return call<"constant_pad_nd", constant_pad_nd_body>(site, self, pad, value);
}

}  // namespace pel

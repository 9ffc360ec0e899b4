// The elements where a mask holds. How many there are is read back from the device.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor masked_select_body(const Op& op, const Tensor& self, const Tensor& mask) {
  PEL_CHECK(mask.dtype() == kBool, DTypeError, "the mask is bool, not {}", describe(mask));
  DimVector sizes(self.sizes());
  PEL_CHECK(!broadcast_clash(sizes, mask.sizes()), ShapeError, "{} and the mask {} do not broadcast",
            describe(self), describe(mask));
  check_has_data(self);
  check_has_data(mask);
  const Tensor src = row_major(broadcast_view(self, sizes)), chosen = row_major(broadcast_view(mask, sizes));
  const Tensor counts = count_nonzero_blocks(chosen);
  Tensor result = make_dense({total_of(counts)}, self.dtype(), self.device());
  launch(op, {result}, {src, chosen, counts}, {Scalar(kCountBlock)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_masked_select() {
  return define_op<masked_select_body>(OpKind::Sync, "masked_select(Tensor self, Tensor mask) -> Tensor")
      .waits("to read how many elements are true")
      .vjp("self", "mask",
           [](const Vjp& v) {
             return masked_scatter(new_zeros(v.grad(), v.sizes("self")), v["mask"], v.grad());
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.condition({3, 4})}, {s({3, 1}), s.condition({2, 1, 4})}};
      });
}
}  // namespace ops

Tensor masked_select(const Tensor& self, const Tensor& mask, Site site) {
  return call<"masked_select", masked_select_body>(site, self, mask);
}

}  // namespace pel

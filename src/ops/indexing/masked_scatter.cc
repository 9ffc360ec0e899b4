// The elements of source, one after the other, where the mask holds. Their number is never read back: each
// masked element counts those before it.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/sorting.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor masked_scatter_body(const Tensor& self, const Tensor& mask, const Tensor& source) {
  PEL_CHECK(mask.dtype() == kBool, DTypeError, "the mask is bool, not {}", describe(mask));
  PEL_CHECK(source.dtype() == self.dtype(), DTypeError, "source is {} and self {}; convert one of them",
            describe(source), describe(self));
  DimVector sizes(self.sizes());
  PEL_CHECK(!broadcast_clash(sizes, mask.sizes()), ShapeError, "{} and {} do not broadcast", describe(self),
            describe(mask));
  const Tensor masked = expand(mask, sizes);
  const Tensor before = sub(cumsum(masked.flatten(), 0), 1);
  const Tensor places = where(masked.flatten(), before, 0);
  // If the source is empty, index 0 must still exist for elements that are not masked.
  const bool is_empty = is_literally(source.numel(), 0);
  const Tensor from = is_empty ? zeros({1}, {self.dtype(), self.device()}) : source.flatten();
  const Tensor taken = gather(from, 0, is_empty ? where(masked.flatten(), 1, places) : places);
  return where(masked, taken.view(sizes), expand(self, sizes));
}

}  // namespace

namespace ops {
OpDef define_masked_scatter() {
  return define_op<masked_scatter_body>(OpKind::Composite,
                                        "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.condition({3, 4}), s({2, 6})},
                           {s({3, 1}), s.condition({4}), s({13})}};
      });
}
}  // namespace ops

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, Site site) {
  return call<"masked_scatter", masked_scatter_body>(site, self, mask, source);
}

}  // namespace pel

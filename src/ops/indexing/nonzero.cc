// The indices of the elements that are not 0. How many there are is read back from the device.
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/index.h"

namespace pel {
namespace {

Tensor nonzero_body(const Tensor& self) { return nonzero_rows(self); }

}  // namespace

namespace ops {
OpDef define_nonzero() {
  return define_op<nonzero_body>(OpKind::Sync, "nonzero(Tensor self) -> Tensor")
      .waits("to read how many elements are true")
      .not_differentiable();
}
}  // namespace ops

Tensor nonzero(const Tensor& self, Site site) { return call<"nonzero", nonzero_body>(site, self); }

}  // namespace pel

// The value of a tensor with one element, on the host.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/element.h"
#include "tensor/make.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

Scalar item_body(const Tensor& self) {
  PEL_CHECK(self.numel() == 1, ValueError, "a tensor with one element is expected, not {}", describe(self));
  PEL_CHECK(self.has_data(), DeviceError, "{} has no data to read", describe(self));
  return load_element(self.dtype(), read_back(self, "to read an element").raw_data());
}

}  // namespace

namespace ops {
OpDef define_item() {
  return define_op<item_body>(OpKind::Sync, "item(Tensor self) -> Scalar").waits("to read an element");
}
}  // namespace ops

Scalar item(const Tensor& self, Site site) { return call<"item", item_body>(site, self); }
Scalar Tensor::item(Site site) const { return pel::item(*this, site); }

}  // namespace pel

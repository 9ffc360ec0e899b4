// A copy on a device, also where the tensor is there already. A copy to the CPU waits.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

// A tensor without gaps between its elements, so that one copy of bytes moves them.
Tensor without_gaps(const Tensor& t) {
  if (t.is_contiguous() || is_dense(t.sizes(), t.strides())) return t;
  Tensor result = make_like(t, t.dtype(), t.device());
  launch(op<"copy_">(), {result}, {t});
  return result;
}

Tensor to_device_body(const Tensor& self, Device device) {
  PEL_CHECK(self.has_data() || device == kMeta, DeviceError, "{} has no data to copy to {}", describe(self),
            to_string(device));
  if (device == kMeta || device == self.device()) {
    Tensor result = make_like(self, self.dtype(), device);
    if (device != kMeta) launch(op<"copy_">(), {result}, {self});
    return result;
  }
  const Tensor dense = without_gaps(self);
  const Tensor on_host = read_back(dense, "to copy a tensor to the host");
  return device == kCpu ? on_host : copied_in(on_host, device);
}

}  // namespace

namespace ops {
OpDef define_to_device() {
  return define_op<to_device_body>(OpKind::Sync, "to_device(Tensor self, Device device) -> Tensor")
      .waits("to copy a tensor to the host")
      .vjp("self", "", [](const Vjp& v) { return to(v.grad(), v.device("self")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), kQueue}}; });
}
}  // namespace ops

Tensor to(const Tensor& self, Device device, Site site) {
  if (self.defined() && self.device() == device) return self;
  return call<"to_device", to_device_body>(site, self, device);
}
Tensor Tensor::to(Device device, Site site) const { return pel::to(*this, device, site); }

}  // namespace pel

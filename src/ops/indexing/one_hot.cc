// 1 at the class of each element. Without a number of classes the largest one is read back from the device.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

std::int64_t classes_in(const Op& op, const Tensor& self) {
  check_has_data(self);
  PEL_CHECK(self.numel() > 0, ValueError,
            "the number of classes of a tensor without elements is unknown; pass num_classes");
  const Tensor bounds = make_dense({2}, kI64, self.device());
  launch(op, {bounds}, {self}, {Scalar(0)});
  const Tensor on_host = read_back(bounds, "to read the largest class");
  const auto* values = static_cast<const std::int64_t*>(on_host.raw_data());
  PEL_CHECK(values[0] >= 0, ValueError, "class {} is negative", values[0]);
  return values[1] + 1;
}

Tensor one_hot_body(const Op& op, const Tensor& self, std::int64_t classes) {
  PEL_CHECK(self.dtype() == kI64, DTypeError, "classes are i64, not {}", describe(self));
  PEL_CHECK(classes == -1 || classes > 0, ValueError,
            "the number of classes is {}, and must be positive or -1, which counts them", classes);
  const Tensor dense = row_major(self);
  if (classes == -1) classes = classes_in(op, dense);
  DimVector sizes(self.sizes());
  sizes.push_back(classes);
  Tensor result = make_dense(sizes, kI64, self.device());
  launch(op, {result}, {dense});
  return result;
}

}  // namespace

namespace ops {
OpDef define_one_hot() {
  return define_op<one_hot_body>(OpKind::Kernel, "one_hot(Tensor self, int num_classes=-1) -> Tensor")
      .waits("to read the largest class, without num_classes")
      .not_differentiable();
}
}  // namespace ops

Tensor one_hot(const Tensor& self, std::int64_t num_classes, Site site) {
  return call<"one_hot", one_hot_body>(site, self, num_classes);
}

}  // namespace pel

#include "ops/shared/fill.h"

#include "dispatch/op_table.h"
#include "tensor/element.h"

namespace pel {

void launch_fill(const Tensor& dst, const Scalar& value) {
  if (!value.is_symbolic()) check_fits(dst.dtype(), value);
  launch(op<"fill_">(), {dst}, {}, {value});
}

}  // namespace pel

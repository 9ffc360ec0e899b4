#include "ops/family_copies.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {

Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor result = make_like(t, dtype, t.device());
  launch(op<"copy_">(), {result}, {t});
  return result;
}

Tensor row_major(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor result = make_dense(t.sizes(), t.dtype(), t.device());
  launch(op<"copy_">(), {result}, {t});
  return result;
}

}  // namespace pel

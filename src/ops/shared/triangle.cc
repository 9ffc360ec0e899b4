#include "ops/shared/triangle.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel {
namespace {

void launch_triangle(const Op& op, const Tensor& dst, const Tensor& self, std::int64_t diagonal,
                     Triangle triangle) {
  PEL_CHECK(self.dim() >= 2, ShapeError, "a matrix has two axes or more, not {} as {}", self.dim(),
            describe(self));
  launch(op, {dst}, {self}, {Scalar(diagonal), Scalar(triangle == Triangle::Upper)});
}

}  // namespace

Tensor make_triangle(const Op& op, const Tensor& self, std::int64_t diagonal, Triangle triangle) {
  Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  launch_triangle(op, result, self, diagonal, triangle);
  return result;
}

const Tensor& keep_triangle(const Op& op, const Tensor& self, std::int64_t diagonal, Triangle triangle) {
  launch_triangle(op, self, self, diagonal, triangle);
  bump_version(self);
  return self;
}

}  // namespace pel

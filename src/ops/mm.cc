// The product of two matrices.
#include "ops/family_gemm.h"

namespace pel {
namespace {

Tensor mm_body(const Op& op, const Tensor& self, const Tensor& mat2) {
  return run_gemm(op, 2, nullptr, self, mat2);
}

}  // namespace

namespace ops {
OpDef define_mm() { return define_op<mm_body>(OpKind::Kernel, "mm(Tensor self, Tensor mat2) -> Tensor"); }
}  // namespace ops

Tensor mm(const Tensor& self, const Tensor& mat2, Site site) { return call<"mm", mm_body>(site, self, mat2); }

}  // namespace pel

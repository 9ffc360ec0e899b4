// Products of two batches of matrices.
#include "ops/family_gemm.h"

namespace pel {
namespace {

Tensor bmm_body(const Op& op, const Tensor& self, const Tensor& mat2) {
  return run_gemm(op, 3, nullptr, self, mat2);
}

}  // namespace

namespace ops {
OpDef define_bmm() { return define_op<bmm_body>(OpKind::Kernel, "bmm(Tensor self, Tensor mat2) -> Tensor"); }
}  // namespace ops

Tensor bmm(const Tensor& self, const Tensor& mat2, Site site) {
  return call<"bmm", bmm_body>(site, self, mat2);
}

}  // namespace pel

// Products of two batches of matrices, scaled, with something added to them.
#include "ops/family_gemm.h"

namespace pel {
namespace {

Tensor baddbmm_body(const Op& op, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                    const Scalar& beta, const Scalar& alpha) {
  return run_gemm(op, 3, &self, batch1, batch2, {beta, alpha});
}

}  // namespace

namespace ops {
OpDef define_baddbmm() {
  return define_op<baddbmm_body>(
      OpKind::Kernel,
      "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor");
}
}  // namespace ops

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha, Site site) {
  return call<"baddbmm", baddbmm_body>(site, self, batch1, batch2, beta, alpha);
}

}  // namespace pel

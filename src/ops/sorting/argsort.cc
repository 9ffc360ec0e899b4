// The indices that sort an axis.
#include "ops/shared/axis.h"

namespace pel {
namespace {

Tensor argsort_body(const Tensor& self, std::int64_t axis, Descending descending) {
  return std::get<1>(sort(self, axis, descending));
}

}  // namespace

namespace ops {
OpDef define_argsort() {
  return define_op<argsort_body>(OpKind::Composite,
                                 "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor");
}
}  // namespace ops

Tensor argsort(const Tensor& self, std::int64_t axis, Descending descending, Site site) {
  return call<"argsort", argsort_body>(site, self, axis, descending);
}

}  // namespace pel

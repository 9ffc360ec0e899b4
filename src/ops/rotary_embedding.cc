// Pairs of columns turned by the angle of their row: two kernels, one for each half of the result.
#include "pellucid/attention.h"
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor rotary_embedding_body(const Tensor& self, const Tensor& cos, const Tensor& sin,
                             Interleaved interleaved) {
  PEL_CHECK(self.dim() >= 1 && self.sizes()[self.sizes().size() - 1] % 2 == 0, ShapeError,
            "columns are turned in pairs; {} has no even number of them", describe(self));
  const Dim half = self.sizes()[self.sizes().size() - 1] / 2;
  for (const Tensor* t : {&cos, &sin})
    PEL_CHECK(t->dim() >= 1 && t->sizes()[t->sizes().size() - 1] == half, ShapeError,
              "cos and sin have a column for each of the {} pairs of {}; {} has not", to_string(half),
              describe(self), describe(*t));
  Tensor result = empty_like(self);
  const auto part = [&](const Tensor& t, int which) {
    return interleaved == Interleaved::Yes
               ? slice(t, -1, which, std::nullopt, 2)
               : slice(t, -1, which == 0 ? Dim(0) : half, which == 0 ? half : 2 * half);
  };
  const Tensor first = part(self, 0), second = part(self, 1);
  rotate_pair_out(part(result, 0), first, second, cos, sin, -1);
  rotate_pair_out(part(result, 1), second, first, cos, sin, 1);
  return result;
}

}  // namespace

namespace ops {
OpDef define_rotary_embedding() {
  return define_op<rotary_embedding_body>(
      OpKind::Composite,
      "rotary_embedding(Tensor self, Tensor cos, Tensor sin, bool interleaved=False) -> Tensor");
}
}  // namespace ops

Tensor rotary_embedding(const Tensor& self, const Tensor& cos, const Tensor& sin, Interleaved interleaved,
                        Site site) {
  return call<"rotary_embedding", rotary_embedding_body>(site, self, cos, sin, interleaved);
}

}  // namespace pel

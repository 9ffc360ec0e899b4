// Pairs of columns rotated by the angle of their row: two kernels, one for each half of the result.
#include "pellucid/ops.h"
#include "pellucid/ops/attention.h"
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

// One column of each pair.
Tensor part(const Tensor& t, int which, Interleaved interleaved) {
  if (interleaved == Interleaved::Yes) return slice(t, -1, which, std::nullopt, 2);
  const Dim half = t.sizes()[t.sizes().size() - 1] / 2;
  return slice(t, -1, which == 0 ? Dim(0) : half, which == 0 ? half : 2 * half);
}

Tensor rotary_embedding_body(const Tensor& self, const Tensor& cos, const Tensor& sin,
                             Interleaved interleaved) {
  PEL_CHECK(self.dim() >= 1 && self.sizes()[self.sizes().size() - 1] % 2 == 0, ShapeError,
            "columns are rotated in pairs; {} has an odd number of them", describe(self));
  const Dim half = self.sizes()[self.sizes().size() - 1] / 2;
  for (const Tensor* t : {&cos, &sin})
    PEL_CHECK(t->dim() >= 1 && t->sizes()[t->sizes().size() - 1] == half, ShapeError,
              "cos and sin must have a column for each of the {} pairs of {}, not {}", to_string(half),
              describe(self), describe(*t));
  Tensor result = empty_like(self);
  const Tensor first = part(self, 0, interleaved), second = part(self, 1, interleaved);
  internal::rotate_pair_out(part(result, 0, interleaved), first, second, cos, sin, -1);
  internal::rotate_pair_out(part(result, 1, interleaved), second, first, cos, sin, 1);
  return result;
}

}  // namespace

namespace ops {
OpDef define_rotary_embedding() {
  return define_op<rotary_embedding_body>(
             OpKind::Composite,
             "rotary_embedding(Tensor self, Tensor cos, Tensor sin, bool interleaved=False) -> Tensor")
      .vjp("self", "cos sin interleaved",
           [](const Vjp& v) {
             return rotary_embedding(v.grad(), v["cos"], neg(v["sin"]), v.get<Interleaved>("interleaved"));
           })
      .vjp("cos sin", "self interleaved",
           [](const Vjp& v) {
             const auto interleaved = v.get<Interleaved>("interleaved");
             const Tensor x = part(v["self"], 0, interleaved), y = part(v["self"], 1, interleaved),
                          to_x = part(v.grad(), 0, interleaved), to_y = part(v.grad(), 1, interleaved);
             return std::vector<Tensor>{to_x * x + to_y * y, to_y * x - to_x * y};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 4}), s({3, 2}), s({3, 2})}, {s({2, 3, 4}), s({3, 2}), s({3, 2}), true}};
      });
}
}  // namespace ops

Tensor rotary_embedding(const Tensor& self, const Tensor& cos, const Tensor& sin, Interleaved interleaved,
                        Site site) {
  return call<"rotary_embedding", rotary_embedding_body>(site, self, cos, sin, interleaved);
}

}  // namespace pel

// Matrix multiplication of vectors, matrices and batches: dot, mv, mm or bmm.
#include "pellucid/ops.h"
#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/layout.h"
#include "tensor/make.h"

namespace pel {
namespace {

// Matrices on both sides, one of them with leading axes.
Tensor batched(const Tensor& a, const Tensor& b) {
  const auto lead_a = static_cast<std::size_t>(a.dim()) - 2, lead_b = static_cast<std::size_t>(b.dim()) - 2;
  const Dims batch_a(a.sizes().data(), lead_a), batch_b(b.sizes().data(), lead_b);
  const Dim m = a.sizes()[lead_a], k = a.sizes()[lead_a + 1], n = b.sizes()[lead_b + 1];
  PEL_CHECK(k == b.sizes()[lead_b], ShapeError, "inner sizes differ: {} @ {} ({} and {})", describe(a),
            describe(b), to_string(k), to_string(b.sizes()[lead_b]));
  DimVector sizes(batch_a);
  PEL_CHECK(!broadcast_clash(sizes, batch_b), ShapeError, "batches {} and {} do not broadcast",
            to_string(batch_a), to_string(batch_b));
  const Dim count = product(sizes);
  const auto gathered = [&](const Tensor& t, Dim rows, Dim columns) {
    DimVector wide = sizes;
    wide.push_back(rows);
    wide.push_back(columns);
    return t.expand(wide).reshape({count, rows, columns});
  };
  const Tensor result = bmm(gathered(a, m, k), gathered(b, k, n));
  sizes.push_back(m);
  sizes.push_back(n);
  return result.view(sizes);
}

Tensor matmul_body(const Tensor& self, const Tensor& other) {
  PEL_CHECK(self.dim() > 0 && other.dim() > 0, ShapeError,
            "both operands must have axes, not {} and {}: multiply by a number with mul", describe(self),
            describe(other));
  if (self.dim() == 1 && other.dim() == 1) return dot(self, other);
  if (self.dim() == 2 && other.dim() == 1) return mv(self, other);
  if (self.dim() == 1) return matmul(self.unsqueeze(0), other).squeeze({-2});
  if (self.dim() == 2 && other.dim() == 2) return mm(self, other);
  if (other.dim() <= 2) {  // all rows of the left side are one matrix
    const Dims sizes = self.sizes();
    const std::size_t last = sizes.size() - 1;
    const Dim rows = product(Dims(sizes.data(), last));
    DimVector wanted(sizes);
    const Tensor flat = self.reshape({rows, sizes[last]});
    if (other.dim() == 1) return mv(flat, other).view(Dims(sizes.data(), last));
    wanted[last] = other.sizes()[1];
    return mm(flat, other).view(wanted);
  }
  return batched(self, other);
}

}  // namespace

namespace ops {
OpDef define_matmul() {
  return define_op<matmul_body>(OpKind::Composite, "matmul(Tensor self, Tensor other) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({4}), s({4})},
                           {s({2, 4}), s({4})},
                           {s({3}), s({3, 2})},
                           {s({2, 2, 3}), s({3, 2})},
                           {s({2, 1, 2, 3}), s({2, 3, 2})}};
      });
}
}  // namespace ops

Tensor matmul(const Tensor& self, const Tensor& other, Site site) {
  return call<"matmul", matmul_body>(site, self, other);
}

}  // namespace pel

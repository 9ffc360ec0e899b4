// Product over one axis or all. The result of integers and bool is i64 unless a dtype is passed.
#include "pellucid/ops/sorting.h"

#include "ops/shared/operands.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor prod_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis, KeepDims keepdim,
                 std::optional<DType> dtype) {
  const RowsCall call = {dtype.value_or(self.dtype()), axis_set(self, axis), keepdim};
  const Tensor result = run_rows(op, {self}, call)[0];
  return dtype ? converted(result, *dtype) : result;  // i64 for integers
}

// At each element the product of all others along the axis, without a division: elements may be 0.
Tensor product_of_others(const Tensor& t, std::int64_t axis) {
  const Tensor one = ones_like(slice(t, axis, 0, 1));
  const Tensor before = cumprod(cat({one, slice(t, axis, 0, -1)}, axis), axis);
  const Tensor after = cumprod(cat({one, flip(slice(t, axis, 1), {axis})}, axis), axis);
  return before * flip(after, {axis});
}

}  // namespace

namespace ops {
OpDef define_prod() {
  return rows_op<prod_body>(
             "prod(Tensor self, int? dim=None, bool keepdim=False, *, DType? dtype=None) -> Tensor")
      .values_in(float_or_i64)
      .fold(FoldKind::Product, the_element)
      .gives_value(first_value, [](DType dtype) { return is_floating(dtype) ? dtype : kI64; })
      .domain(0.99, 1.01)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double product = 1;
        for (const long double x : in[0]) product *= x;
        // Every factor adds its rounding, however deep the tree is.
        return RowProgram::Wanted{product, std::abs(product) * static_cast<long double>(in[0].size()) / 32};
      })
      .vjp("self", "self dim keepdim",
           [](const Vjp& v) {
             const auto dim = v.get<std::optional<std::int64_t>>("dim");
             const Tensor self = to(v["self"], v.grad().dtype());
             const Tensor grad =
                 with_axes_kept(v.grad(), self.sizes(), axes_of(dim), v.get<KeepDims>("keepdim"));
             if (dim && self.dim() > 0) return grad * product_of_others(self, *dim);
             return grad * reshape(product_of_others(reshape(self, {-1}), 0), self.sizes());
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3})},
                           {s({3, 4}), Dim(-1)},
                           {s({3, 2}), Dim(0), true},
                           {mul(s({3, 4}), s.condition({3, 4})), Dim(1)}};
      });
}
}  // namespace ops

Tensor prod(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keepdim,
            std::optional<DType> dtype, Site site) {
  return call<"prod", prod_body>(site, self, axis, keepdim, dtype);
}

}  // namespace pel

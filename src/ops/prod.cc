// Product over one axis or all. Integers and bool give i64 where no dtype is given.
#include "ops/family_operands.h"
#include "ops/family_rows.h"

namespace pel {
namespace {

Tensor prod_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep,
                 std::optional<DType> dtype) {
  const RowsCall call = {dtype.value_or(self.dtype()), axis_set(self, axis), keep};
  const Tensor result = run_rows(op, {self}, call)[0];
  return dtype ? converted(result, *dtype) : result;  // integers give i64
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
      });
}
}  // namespace ops

Tensor prod(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep, std::optional<DType> dtype,
            Site site) {
  return call<"prod", prod_body>(site, self, axis, keep, dtype);
}

}  // namespace pel

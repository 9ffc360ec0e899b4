// Where values belong among sorted boundaries.
#include "ops/shared/axis.h"
#include "ops/shared/pointwise.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

// Boundaries of one axis serve all values; otherwise each row of values has its own.
void check_sizes(const Tensor& boundaries, const Tensor& values) {
  PEL_CHECK(boundaries.dim() > 0, ShapeError, "the boundaries need an axis; they are {}",
            describe(boundaries));
  if (boundaries.dim() == 1) return;
  bool rows_match = boundaries.dim() == values.dim();
  for (std::size_t i = 0; rows_match && i + 1 < values.sizes().size(); ++i)
    rows_match = boundaries.sizes()[i] == values.sizes()[i];
  PEL_CHECK(rows_match, ShapeError,
            "boundaries {} with several axes serve values of the same sizes but for the last axis, not {}",
            describe(boundaries), describe(values));
}

Tensor searchsorted_body(const Op& op, const Tensor& boundaries, const Tensor& given, OutInt32 out, Side side,
                         const std::optional<Tensor>& sorter) {
  const bool is_host_number = given.header()->is_number && is_asynchronous(boundaries.device());
  const Tensor values = is_host_number ? copied_in(given, boundaries.device()) : given;
  check_sizes(boundaries, values);
  Tensor result = make_dense(values.sizes(), out == OutInt32::Yes ? kI32 : kI64, values.device());
  const DType common = result_type({boundaries, given});
  const Tensor sorted = row_major(converted(boundaries, common)),
               wanted = row_major(converted(values, common));
  const Scalar right = side == Side::Right;
  if (!sorter) {
    launch(op, {result}, {sorted, wanted}, {right});
    return result;
  }
  PEL_CHECK(sorter->dtype() == kI64, DTypeError, "the sorter is {}; indices are i64", describe(*sorter));
  bool same_sizes = sorter->dim() == boundaries.dim();
  for (std::size_t i = 0; same_sizes && i < boundaries.sizes().size(); ++i)
    same_sizes = sorter->sizes()[i] == boundaries.sizes()[i];
  PEL_CHECK(same_sizes, ShapeError, "the sorter {} needs the sizes of the boundaries {}", describe(*sorter),
            describe(boundaries));
  launch(op, {result}, {sorted, wanted, row_major(*sorter)}, {right});
  return result;
}

}  // namespace

namespace ops {
OpDef define_searchsorted() {
  return define_op<searchsorted_body>(
             OpKind::Kernel,
             "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
             "bool right=False, Tensor? sorter=None) -> Tensor")
      .dtypes(kFloating | kIntegral)
      .not_differentiable();
}
}  // namespace ops

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, OutInt32 out_int32, Side side,
                    const std::optional<Tensor>& sorter, Site site) {
  return call<"searchsorted", searchsorted_body>(site, sorted_sequence, values, out_int32, side, sorter);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, OutInt32 out_int32, Side side,
                    const std::optional<Tensor>& sorter, Site site) {
  return searchsorted(sorted_sequence, new_number(sorted_sequence, value), out_int32, side, sorter, site);
}

}  // namespace pel

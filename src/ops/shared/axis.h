// What ops along one axis share: scans, sorting and selection.
#pragma once

#include <tuple>

#include "pellucid/ops/sorting.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {

// The tensor with at least one axis, for a kernel: one without gets an axis of size 1.
Tensor with_axes(const Tensor& t);
// The size along an axis; that of a tensor without axes is 1.
Dim size_along(const Tensor& self, std::int64_t wrapped_axis);

// cumsum and cumprod: of integers and bool, in i64.
Tensor run_scan(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype);
// cummax and cummin.
std::tuple<Tensor, Tensor> run_scan_with_index(const Op& op, const Tensor& self, std::int64_t axis);
// kthvalue and median: element `nth`, from 0, of each sorted row. NaN is the largest, or is the result.
enum class NanWins : bool { No, Yes };
std::tuple<Tensor, Tensor> run_nth(const Op& op, const Tensor& self, std::int64_t wrapped_axis, Dim nth,
                                   NanWins nan_wins, KeepDims keepdim);
// An axis of which one element is wanted has one.
void check_axis_not_empty(const Tensor& self, std::int64_t wrapped_axis);

}  // namespace pel

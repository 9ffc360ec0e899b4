#include "ops/shared/index.h"

#include <algorithm>

#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/dim_context.h"
#include "tensor/element.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

bool is_mask(const Tensor& index) { return index.dtype() == kBool || index.dtype() == kU8; }

void check_mask_sizes(const Tensor& self, const Tensor& mask, std::int64_t axis) {
  PEL_CHECK(mask.dim() > 0, IndexError, "a mask without axes indexes nothing; unsqueeze it and self first");
  PEL_CHECK(axis + mask.dim() <= self.dim(), IndexError, "a mask of {} at axis {} is too much for {}",
            to_string(mask.sizes()), axis, describe(self));
  for (std::size_t i = 0; i < mask.sizes().size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(axis) + i;
    PEL_CHECK(mask.sizes()[i] == self.sizes()[at], IndexError,
              "the mask has size {} and the tensor {} at axis {}: {} against {}", to_string(mask.sizes()[i]),
              to_string(self.sizes()[at]), at, describe(mask), describe(self));
  }
}

// Appends the indices of one argument: a mask has as many as axes.
void add_indices(IndexPlan& plan, const Tensor& self, const Tensor& index, std::int64_t axis) {
  PEL_CHECK(plan.axes.empty() || axis > plan.axes.back(), IndexError,
            "the axes of indices ascend, and one tensor indexes each: axis {} comes after {}", axis,
            plan.axes.empty() ? 0 : plan.axes.back());
  PEL_CHECK(axis < self.dim(), IndexError, "an index at axis {} is too many for {}", axis, describe(self));
  if (!is_mask(index)) {
    check_index_dtype(index);
    plan.indices.push_back(index);
    plan.axes.push_back(axis);
    return;
  }
  check_mask_sizes(self, index, axis);
  const Tensor rows = nonzero_rows(index);
  for (std::int64_t i = 0; i < index.dim(); ++i) {
    plan.indices.push_back(make_view(rows, {rows.sizes()[0]}, {rows.strides()[0]}, Dim(i)));
    plan.axes.push_back(axis + i);
  }
}

// One dtype and one shape for all.
DimVector make_alike(std::vector<Tensor>& indices) {
  DimVector sizes;
  const bool mixed = std::any_of(indices.begin(), indices.end(),
                                 [&](const Tensor& t) { return t.dtype() != indices[0].dtype(); });
  for (Tensor& index : indices) {
    PEL_CHECK(!broadcast_clash(sizes, index.sizes()), IndexError,
              "the indices have sizes {} and {}, which do not broadcast", to_string(sizes),
              to_string(index.sizes()));
    if (mixed) index = converted(index, kI64);
  }
  for (Tensor& index : indices) index = broadcast_view(index, sizes);
  return sizes;
}

}  // namespace

void check_index_dtype(const Tensor& index) {
  PEL_CHECK(index.dtype() == kI64 || index.dtype() == kI32, DTypeError, "an index is i64 or i32, not {}",
            describe(index));
}

void check_has_data(const Tensor& self) {
  PEL_CHECK(self.has_data(), DeviceError,
            "the size of the result depends on the values of {}, which has none; pass a tensor with data",
            describe(self));
}

void check_apart(const Tensor& written, const Tensor& read) {
  PEL_CHECK(!written.has_data() || written.raw_data() != read.raw_data() || is_literally(read.numel(), 0),
            AliasError, "{} is read while {}, which shares its memory, is written; clone one of them",
            describe(read), describe(written));
}

Tensor count_nonzero_blocks(const Tensor& self) {
  const std::int64_t blocks = (self.numel().value() + kCountBlock - 1) / kCountBlock;
  Tensor counts = make_dense({blocks + 1}, kI64, self.device());
  launch(op<"nonzero">(), {counts}, {self}, {Scalar(kCountBlock)});
  return counts;
}

std::int64_t total_of(const Tensor& counts) {
  const Tensor on_host = read_back(counts, "to read how many elements are true");
  return static_cast<const std::int64_t*>(on_host.raw_data())[counts.numel().value() - 1];
}

Tensor nonzero_rows(const Tensor& self) {
  check_has_data(self);
  const Tensor dense = row_major(self);
  const Tensor counts = count_nonzero_blocks(dense);
  Tensor rows = make_dense({total_of(counts), self.dim()}, kI64, self.device());
  launch(op<"nonzero">(), {rows}, {dense, counts}, {Scalar(kCountBlock)});
  return rows;
}

IndexPlan plan_index(const Tensor& self, ArrayView<Tensor> indices, Axes axes) {
  PEL_CHECK(axes.empty() || axes.size() == indices.size(), ValueError, "{} axes are given for {} indices",
            axes.size(), indices.size());
  IndexPlan plan;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t next = plan.axes.empty() ? 0 : plan.axes.back() + 1;
    add_indices(plan, self, indices[i], axes.empty() ? next : wrap_axis(axes[i], self.dim()));
  }
  const DimVector index_sizes = make_alike(plan.indices);
  for (const std::int64_t axis : plan.axes) {
    PEL_CHECK(!is_literally(self.sizes()[static_cast<std::size_t>(axis)], 0) ||
                  is_literally(product(index_sizes), 0),
              IndexError, "every index is out of range for axis {} of size 0 in {}", axis, describe(self));
  }
  // If the indexed axes are adjacent the indices' axes replace them, else they come first.
  const auto count = static_cast<std::int64_t>(plan.axes.size());
  const bool neighbours = count > 0 && plan.axes.back() - plan.axes.front() == count - 1;
  plan.before = neighbours ? plan.axes.front() : 0;
  const auto add_index_sizes = [&] {
    for (const Dim size : index_sizes) plan.sizes.push_back(size);
  };
  std::int64_t stayed = 0;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (std::find(plan.axes.begin(), plan.axes.end(), i) != plan.axes.end()) continue;
    if (stayed++ == plan.before) add_index_sizes();
    plan.sizes.push_back(self.sizes()[static_cast<std::size_t>(i)]);
  }
  if (stayed == plan.before) add_index_sizes();
  return plan;
}

std::vector<Scalar> IndexPlan::scalars(const Scalar& first) const {
  std::vector<Scalar> all = {first, before};
  all.insert(all.end(), axes.begin(), axes.end());
  return all;
}

namespace {

// Equal expressions are not compared: a capture records no guard for them.
bool fits(Dim size, Dim limit) { return Dim::identical(size, limit) || size <= limit; }

}  // namespace

void check_gather_sizes(const Tensor& self, const Tensor& index, std::size_t axis) {
  PEL_CHECK(self.dim() == index.dim(), ShapeError, "the index has {} axes and the tensor {}: {} for {}",
            index.dim(), self.dim(), describe(index), describe(self));
  for (std::size_t i = 0; i < index.sizes().size(); ++i) {
    // Of an empty index nothing is asked; where its sizes are symbols, only one that does not fit tells.
    PEL_CHECK(i == axis || fits(index.sizes()[i], self.sizes()[i]) || index.numel() == 0, ShapeError,
              "the index has size {} at axis {}, more than the tensor's {}: {} for {}",
              to_string(index.sizes()[i]), i, to_string(self.sizes()[i]), describe(index), describe(self));
  }
}

namespace {

// A number in self's dtype, seen with the sizes of the index.
Tensor number_as_source(const Tensor& self, const Tensor& number, Dims sizes) {
  // Its value is known while nothing else has data yet, and a plan keeps it.
  const NewDataScope scope(number.has_data() ? NewData::Real : NewData::None);
  Tensor value = make_dense({}, self.dtype(), number.has_data() ? number.device() : self.device());
  if (number.has_data() && value.has_data()) {
    const Scalar scalar = load_element(number.dtype(), number.raw_data());
    check_fits(self.dtype(), scalar);
    store_element(self.dtype(), value.raw_data(), scalar);
    if (value.device() != self.device()) value = copied_in(value, self.device());
  }
  return broadcast_view(value, sizes);
}

}  // namespace

void launch_scatter(const Op& op, const Tensor& self, std::int64_t axis, const Tensor& index,
                    const Tensor& src, Combine combine) {
  check_index_dtype(index);
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Tensor dst = with_axes(self), picks = with_axes(index);
  const bool is_number = src.header()->is_number;
  const Tensor values = is_number ? number_as_source(self, src, picks.sizes()) : with_axes(src);
  PEL_CHECK(values.dtype() == self.dtype(), DTypeError, "src is {} and self {}; convert one of them",
            describe(src), describe(self));
  if (is_literally(index.numel(), 0)) return;  // nothing is asked of its other sizes
  check_gather_sizes(dst, picks, at);
  PEL_CHECK(values.dim() == picks.dim(), ShapeError, "the index has {} axes and src {}: {} for {}",
            picks.dim(), values.dim(), describe(index), describe(src));
  for (std::size_t i = 0; i < picks.sizes().size(); ++i) {
    PEL_CHECK(fits(picks.sizes()[i], values.sizes()[i]) || picks.numel() == 0, ShapeError,
              "the index has size {} at axis {}, more than src's {}: {} for {}", to_string(picks.sizes()[i]),
              i, to_string(values.sizes()[i]), describe(index), describe(src));
  }
  PEL_CHECK(!is_literally(dst.sizes()[at], 0), IndexError,
            "every index is out of range for axis {} of size 0: {} for {}", at, describe(index),
            describe(self));
  check_apart(dst, values);
  launch(op, {dst}, {picks, values},
         {Scalar(static_cast<std::int64_t>(at)), Scalar(static_cast<std::int64_t>(combine))});
}

Tensor padded_to(const Tensor& t, Dims sizes) {
  if (identical(t.sizes(), sizes)) return t;
  std::vector<Dim> padding;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    padding.push_back(0);
    padding.push_back(sizes[i] - t.sizes()[i]);
  }
  return constant_pad_nd(t, padding);
}

Tensor source_gradient(const Tensor& grad, std::int64_t axis, const Tensor& index, Dims sources) {
  return padded_to(gather(grad, axis, index), sources);
}

}  // namespace pel

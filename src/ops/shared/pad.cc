#include "ops/shared/pad.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel {
namespace {

struct Border {
  Dim before = 0, after = 0;
};

Dim cut_of(Dim padding) { return padding < 0 ? padding : Dim(0); }

// The modes that repeat elements know these shapes: the padded axes, one for channels, and perhaps a batch.
void check_rank(const Tensor& self, std::size_t padded_axes) {
  const std::int64_t axes = static_cast<std::int64_t>(padded_axes);
  PEL_CHECK(axes >= 1 && axes <= 3 && (self.dim() == axes + 1 || self.dim() == axes + 2), ShapeError,
            "of one to three axes padded, the tensor has one or two more: {} are padded of {}", axes,
            describe(self));
}

void check_border(const Tensor& self, std::size_t axis, const Border& border, PadMode mode) {
  const Dim size = self.sizes()[axis];
  const Dim kept = size + cut_of(border.before) + cut_of(border.after);
  const auto check = [&](bool fits, const char* rule) {
    PEL_CHECK(fits, ShapeError, "padding {} and {} at axis {} of size {}: {}", to_string(border.before),
              to_string(border.after), axis, to_string(size), rule);
  };
  switch (mode) {
    case PadMode::Constant:
      return check(kept >= 0, "more is cut than there is");
    case PadMode::Reflect:
      check(border.before < size && border.after < size, "a reflection is shorter than the axis");
      return check(size + border.before + border.after >= 1, "nothing is left");
    case PadMode::Replicate:
      check(size > 0, "there is nothing to repeat");
      return check(size + border.before + border.after >= 1, "nothing is left");
    case PadMode::Circular:
      check(kept >= 0, "more is cut than there is");
      return check(border.before <= kept && border.after <= kept, "it wraps round more than once");
  }
}

// The part of self that a negative border leaves.
Tensor cut(const Tensor& self, const SmallVector<Border, 6>& borders) {
  DimVector sizes(self.sizes());
  Dim offset = self.storage_offset();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] += cut_of(borders[i].before) + cut_of(borders[i].after);
    offset -= cut_of(borders[i].before) * self.strides()[i];
  }
  return make_view(self, sizes, self.strides(), offset);
}

}  // namespace

Tensor make_padded(const Op& op, const Tensor& self, Dims padding, PadMode mode, const Scalar& value) {
  const std::size_t rank = self.sizes().size();
  PEL_CHECK(padding.size() % 2 == 0, ValueError, "padding has two numbers for an axis, not {} in all",
            padding.size());
  PEL_CHECK(padding.size() / 2 <= rank, ShapeError, "padding {} is given for more axes than {} has",
            to_string(padding), describe(self));
  if (mode != PadMode::Constant) check_rank(self, padding.size() / 2);
  if (!value.is_symbolic()) check_fits(self.dtype(), value);
  SmallVector<Border, 6> borders(rank);
  DimVector sizes(self.sizes());
  for (std::size_t i = 0; i < padding.size() / 2; ++i) {
    const std::size_t axis = rank - 1 - i;
    borders[axis] = {padding[2 * i], padding[2 * i + 1]};
    check_border(self, axis, borders[axis], mode);
    sizes[axis] += borders[axis].before + borders[axis].after;
  }
  Tensor result = make_dense(sizes, self.dtype(), self.device());
  if (rank == 0) {
    launch(pel::op<"copy_">(), {result}, {self});
    return result;
  }
  // What is cut off does not come back at the other end.
  const bool cuts_first = mode == PadMode::Circular;
  std::vector<Scalar> scalars = {Scalar(static_cast<std::int64_t>(mode)), value};
  for (const Border& border : borders)
    scalars.push_back(cuts_first ? border.before - cut_of(border.before) : border.before);
  launch(op, {result}, {cuts_first ? cut(self, borders) : self}, scalars);
  return result;
}

std::vector<Dim> opposite(Dims padding) {
  std::vector<Dim> result;
  for (const Dim size : padding) result.push_back(-size);
  return result;
}

}  // namespace pel

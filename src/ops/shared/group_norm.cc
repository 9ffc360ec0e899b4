#include "ops/shared/group_norm.h"

#include "pellucid/ops.h"

#include "base/check.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {

Groups::Groups(const Tensor& self, Dim samples, Dim channels, Dim size, std::int64_t groups)
    : device_(self.device()), type_(value_type(check_floating(self))), self_sizes_(self.sizes()) {
  PEL_CHECK(groups > 0, ValueError, "the number of groups is {}, and must be positive", groups);
  PEL_CHECK(channels % Dim(groups) == 0, ShapeError, "{} channels do not make {} groups of one size",
            to_string(channels), groups);
  PEL_CHECK(self.numel() == samples * channels * size, ShapeError,
            "{} samples of {} channels of {} elements are not the elements of {}", to_string(samples),
            to_string(channels), to_string(size), describe(self));
  for (const Dim d : {samples, Dim(groups), channels / Dim(groups), size}) sizes_.push_back(d);
}

Tensor Groups::of(const Tensor& t) const {
  DimVector strides(sizes_);
  if (view_strides(t.sizes(), t.strides(), sizes_, strides.data())) return make_view(t, sizes_, strides);
  const Tensor dense = row_major(t);
  return make_view(dense, sizes_, row_major_strides(sizes_));
}

Tensor Groups::parameter(const std::optional<Tensor>& vector, double otherwise) const {
  if (!vector) return full({}, otherwise, {type_, device_});
  PEL_CHECK(vector->dim() == 1 && vector->sizes()[0] == sizes_[1] * sizes_[2], ShapeError,
            "{} is not one number for each of {} channels", describe(*vector),
            to_string(sizes_[1] * sizes_[2]));
  const Dim step = vector->strides()[0];
  return make_view(*vector, {sizes_[1], sizes_[2], 1}, {step * sizes_[2], step, 0});
}

Tensor Groups::statistic(const Tensor& t) const {
  PEL_CHECK(t.dim() == 2 && t.sizes()[0] == sizes_[0] && t.sizes()[1] == sizes_[1], ShapeError,
            "{} is not one number for each of {} groups of {} samples", describe(t), to_string(sizes_[1]),
            to_string(sizes_[0]));
  return make_view(t, {sizes_[0], sizes_[1], 1, 1}, {t.strides()[0], t.strides()[1], 0, 0});
}

Tensor Groups::back(const Tensor& t) const {
  return make_view(t, self_sizes_, row_major_strides(self_sizes_));
}

GroupViews::GroupViews(const Vjp& v)
    : samples_(v.get<Dim>("N")),
      groups_(v.get<std::int64_t>("group")),
      each_(v.get<Dim>("C") / groups_),
      size_(v.get<Dim>("HxW")) {}

Tensor GroupViews::statistic(const Tensor& t) const {
  return t.defined() ? reshape(t, {samples_, groups_, 1, 1}) : t;
}

Tensor GroupViews::parameter(const std::optional<Tensor>& vector) const {
  return vector && vector->defined() ? reshape(*vector, {groups_, each_, 1}) : Tensor();
}

}  // namespace pel

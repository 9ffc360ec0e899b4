// Tensors of [samples, channels, …] seen as [samples, groups, channels of a group, elements of a channel].
#pragma once

#include "ops/shared/norm.h"
#include "tensor/layout.h"

namespace pel {

class Groups {
 public:
  static constexpr AxisSet kRows = 12;     // the last two axes: one group
  static constexpr AxisSet kChannels = 9;  // all but groups and their channels

  Groups(const Tensor& self, Dim samples, Dim channels, Dim size, std::int64_t groups);

  // A view, or a copy where the layout is none of these axes.
  Tensor of(const Tensor& t) const;
  // A number for each channel, or one for all where none is given.
  Tensor parameter(const std::optional<Tensor>& vector, double otherwise) const;
  // A number for each group of each sample.
  Tensor statistic(const Tensor& t) const;
  // With the axes that self has.
  Tensor back(const Tensor& t) const;

 private:
  Device device_;
  DType type_;  // of values
  DimVector self_sizes_, sizes_;
};

// The same views in terms of ops, of the arguments N, C, HxW and group that a rule keeps.
class GroupViews {
 public:
  explicit GroupViews(const Vjp& v);
  Tensor of(const Tensor& t) const { return reshape(t, {samples_, groups_, each_, size_}); }
  Tensor statistic(const Tensor& t) const;                      // with axes that broadcast; undefined stays
  Tensor parameter(const std::optional<Tensor>& vector) const;  // likewise
  Dim count() const { return each_ * size_; }                   // of elements in a group

 private:
  Dim samples_, groups_, each_, size_;
};

}  // namespace pel

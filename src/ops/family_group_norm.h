// Tensors of [samples, channels, …] seen as [samples, groups, channels of a group, elements of a channel].
#pragma once

#include "ops/family_norm.h"
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

}  // namespace pel

// What the norms over channels share.
#pragma once

#include "ops/shared/norm.h"

namespace pel {

inline constexpr AxisSet kChannels = 2;  // axis 1
void check_channels(const Tensor& self);

// Weight and bias as they broadcast to `self`; 1 and 0 where one is not given.
struct Affine {
  Affine(const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias);
  Tensor weight, bias;
};

// Moves the running statistics, where they are given, towards those of `count` elements a channel.
void move_statistics(const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                     const Tensor& mean, const Tensor& var, Dim count, double momentum);

// In terms of ops: a number for each channel as it broadcasts to a tensor of so many axes, and back.
Tensor along_channels(const Tensor& vector, std::int64_t rank);
std::vector<std::int64_t> axes_except_channels(std::int64_t rank);

}  // namespace pel

// What constant_pad_nd and pad share.
#pragma once

#include <vector>

#include "pellucid/extend/op.h"
#include "pellucid/ops/indexing.h"  // PadMode

namespace pel {

// Checks sizes, makes the result and launches. `padding` goes from the last axis to the front, two numbers an
// axis.
Tensor make_padded(const Op& op, const Tensor& self, Dims padding, PadMode mode, const Scalar& value);

// What takes a border of these sizes away.
std::vector<Dim> opposite(Dims padding);

}  // namespace pel

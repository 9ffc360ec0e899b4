// A tensor and its name in a module, an optimizer or a file.
#pragma once

#include <string>

#include "pellucid/tensor.h"

namespace pel {

struct NamedTensor {
  std::string path;  // "blocks.0.mlp.up.weight"
  Tensor tensor;
};

}  // namespace pel

// A tensor under the name by which a module, an optimiser or a file knows it.
#pragma once

#include <string>

#include "pellucid/tensor.h"

namespace pel {

struct NamedTensor {
  std::string path;  // "blocks.0.mlp.up.weight"
  Tensor tensor;
};

}  // namespace pel

// oneDNN's products of matrices.
#pragma once

#include <optional>

#include "pellucid/extend/op.h"

namespace pel::cpu::onednn {

// None where the library is built without oneDNN.
std::optional<Kernel> gemm_kernel();

}  // namespace pel::cpu::onednn

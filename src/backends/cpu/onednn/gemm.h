// oneDNN's GEMM.
#pragma once

#include <optional>

#include "pellucid/extend/op.h"

namespace pel::cpu::onednn {

// Returns none if the library is built without oneDNN.
std::optional<Kernel> gemm_kernel();

}  // namespace pel::cpu::onednn

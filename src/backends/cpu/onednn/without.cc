// Stands in where the library is built without oneDNN.
#include "backends/cpu/onednn/gemm.h"

namespace pel::cpu::onednn {

std::optional<Kernel> gemm_kernel() { return std::nullopt; }

}  // namespace pel::cpu::onednn

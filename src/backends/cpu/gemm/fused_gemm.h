// A matmul with a compiled epilogue (GemmLoop, dispatch/loop_compiler.h).
#pragma once

#include "pellucid/extend/kernel.h"

#include "codegen/loop_ir.h"

namespace pel::cpu {

struct FusedGemmCode {
  const char* name = nullptr;
  codegen::PelLoopFn* loop = nullptr;
  DType dtype{};  // of the factors
  int sums = 1;
};

// args.context is a FusedGemmCode, which must outlive the kernel.
Kernel fused_gemm_kernel(const FusedGemmCode& code);
bool is_fused_gemm(const Kernel& kernel);
bool is_fused_linear(const Kernel& kernel);  // whose epilogue is prebuilt

}  // namespace pel::cpu

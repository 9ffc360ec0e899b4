#include "backends/cpu/gemm/fused_gemm.h"

#include <utility>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/packed_gemm.h"
#include "backends/cpu/kernels.h"

namespace pel::cpu {
namespace {

TileGemm gemm_at(const KernelArgs& args) {
  const auto& code = *static_cast<const FusedGemmCode*>(args.context);
  const Operand &out = output(args, 0), &a = input(args, 0);
  const int rows = out.rank - 2;
  TileGemm gemm{rows > 0 ? out.sizes[0] : 1,
                out.sizes[rows],
                out.sizes[rows + 1],
                a.sizes[rows + 1],
                code.dtype,
                matrix_of(a),
                matrix_of(input(args, 1)),
                matrix_of(out),
                static_cast<DType>(out.dtype),
                {},
                {}};
  gemm.sums = code.sums;
  if (code.sums == 2) gemm.second = matrix_of(input(args, 2));
  gemm.epilogue.loop = code.loop;
  gemm.epilogue.scalars = args.scalars;
  const auto operand = [](const Operand& o) {
    return TileEpilogue::Operand{matrix_of(o), static_cast<DType>(o.dtype)};
  };
  for (int i = 1 + code.sums; i < static_cast<int>(args.input_count); ++i)
    gemm.epilogue.inputs.push_back(operand(input(args, i)));
  for (int i = 1; i < static_cast<int>(args.output_count); ++i)
    gemm.epilogue.more_outputs.push_back(operand(output(args, i)));
  return gemm;
}

void run_fused_gemm(Stream&, const KernelArgs& args) {
  TileGemm gemm = gemm_at(args);
  gemm.scratch = static_cast<char*>(args.scratch);
  run_packed_or_not(std::move(gemm));
}

std::uint64_t scratch_of_fused(const KernelArgs& args) { return kernel_scratch(gemm_at(args)); }

std::uint64_t flops_of_fused(const KernelArgs& args) {
  const TileGemm gemm = gemm_at(args);
  return 2 * static_cast<std::uint64_t>(gemm.sums * gemm.batch * gemm.m * gemm.n * gemm.k);
}

}  // namespace

Kernel fused_gemm_kernel(const FusedGemmCode& code) {
  Kernel kernel{code.name, supports_any, run_fused_gemm, kAllDTypes, 0, &code};
  kernel.flops = flops_of_fused;
  kernel.scratch_bytes = scratch_of_fused;
  return kernel;
}

bool is_fused_gemm(const Kernel& kernel) { return kernel.run == run_fused_gemm; }

}  // namespace pel::cpu

#include "backends/cpu/gemm/fused_gemm.h"

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/kernels.h"
#include "packing/packing.h"

namespace pel::cpu {
namespace {

Matrix matrix_at(const Operand& o) {
  const int rows = o.rank - 2;
  return {static_cast<char*>(o.data), rows > 0 ? o.strides[0] : 0, o.strides[rows], o.strides[rows + 1]};
}

TileGemm gemm_at(const KernelArgs& args) {
  const auto& code = *static_cast<const FusedGemmCode*>(args.context);
  const Operand &out = output(args, 0), &a = input(args, 0);
  const int rows = out.rank - 2;
  TileGemm gemm{rows > 0 ? out.sizes[0] : 1,
                out.sizes[rows],
                out.sizes[rows + 1],
                a.sizes[rows + 1],
                code.dtype,
                matrix_at(a),
                matrix_at(input(args, 1)),
                matrix_at(out),
                static_cast<DType>(out.dtype),
                {},
                {}};
  gemm.epilogue.loop = code.loop;
  gemm.epilogue.scalars = args.scalars;
  for (std::uint32_t i = 2; i < args.input_count; ++i)
    gemm.epilogue.inputs.push_back({matrix_at(input(args, static_cast<int>(i))),
                                    static_cast<DType>(input(args, static_cast<int>(i)).dtype)});
  return gemm;
}

std::shared_ptr<const PackedForm> packed_form_of(const TileGemm& gemm) {
  if (gemm.batch > 1 && gemm.b.batch != 0) return nullptr;
  return find_packed({gemm.b.data, gemm.k, gemm.n, gemm.b.row, gemm.b.column}, gemm.dtype);
}

void run_fused_gemm(Stream&, const KernelArgs& args) {
  TileGemm gemm = gemm_at(args);
  gemm.scratch = static_cast<char*>(args.scratch);
  const std::shared_ptr<const PackedForm> form = packed_form_of(gemm);
  if (form) gemm.packed.data = static_cast<const char*>(form->panels.raw_data());
  run_tiles(gemm);
}

std::uint64_t scratch_of_fused(const KernelArgs& args) {
  const TileGemm gemm = gemm_at(args);
  return packed_form_of(gemm) ? 0 : static_cast<std::uint64_t>(scratch_bytes(gemm, tiles_for(gemm.dtype)));
}

std::uint64_t flops_of_fused(const KernelArgs& args) {
  const TileGemm gemm = gemm_at(args);
  return 2 * static_cast<std::uint64_t>(gemm.batch * gemm.m * gemm.n * gemm.k);
}

}  // namespace

Kernel fused_gemm_kernel(const FusedGemmCode& code) {
  Kernel kernel{code.name, supports_any, run_fused_gemm, kAllDTypes, 0, &code};
  kernel.flops = flops_of_fused;
  kernel.scratch_bytes = scratch_of_fused;
  return kernel;
}

}  // namespace pel::cpu

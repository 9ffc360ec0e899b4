// A matmul with a prebuilt epilogue: bias, activation, residual.
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "pellucid/ops/linalg.h"

#include "backends/cpu/gemm/fused_gemm.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/packed_gemm.h"
#include "backends/cpu/kernels.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

// Scalars: the activation, whether there is a bias, and a residual. Outputs: the result, and what the
// activation is of, if it is saved.
struct Call {
  explicit Call(const KernelArgs& args) : saves(args.output_count == 2) {
    const Operand &out = output(args, 0), &a = input(args, 0);
    gemm = {1,
            out.sizes[0],
            out.sizes[1],
            a.sizes[1],
            static_cast<DType>(a.dtype),
            matrix_of(a),
            matrix_of(input(args, 1)),
            matrix_of(out),
            static_cast<DType>(out.dtype),
            {},
            {}};
    activation = static_cast<LinearActivation>(args.scalars[0].as_int);
    with_type(gemm.dtype, [&]<class T>(std::type_identity<T>) { store_as(&minus_zero, convert<T>(-0.0)); });
    int next = 2;
    for (const int i : {1, 2}) {  // x + -0 is x, also if x is -0
      const bool is_given = args.scalars[i].as_int != 0;
      gemm.epilogue.inputs.push_back(
          {is_given ? matrix_of(input(args, next)) : Matrix{reinterpret_cast<char*>(&minus_zero), 0, 0, 0},
           gemm.dtype});
      next += is_given ? 1 : 0;
    }
    if (saves) gemm.epilogue.more_outputs.push_back({matrix_of(output(args, 1)), gemm.dtype});
    gemm.epilogue.loop = linear_finish_loop(gemm.dtype, activation, saves);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  TileGemm gemm;
  LinearActivation activation;
  bool saves;
  std::uint64_t minus_zero = 0;
};

void run_fused_linear(Stream&, const KernelArgs& args) {
  Call call(args);
  call.gemm.scratch = static_cast<char*>(args.scratch);
  run_packed_or_not(call.gemm);
}

std::string describe(const KernelArgs& args) {
  const Call call(args);
  const TileGemm& gemm = call.gemm;
  const TileFamily& family = tiles_for(gemm.dtype);
  const char right = packed_form(gemm) ? 'p' : gemm.b.order(gemm.k, gemm.n);
  std::string text = fmt::format("pellucid_{}_{}_{}{}_{}x{}", isa_name(family), name(gemm.dtype), right,
                                 gemm.a.order(gemm.m, gemm.k), family.rows, family.columns);
  if (args.scalars[1].as_int != 0) text += "_bias";
  if (call.activation != LinearActivation::None) text += fmt::format("_{}", name(call.activation));
  if (args.scalars[2].as_int != 0) text += "_add";
  return text;
}

}  // namespace

bool is_fused_linear(const Kernel& kernel) { return kernel.run == run_fused_linear; }

KernelLists fused_linear_kernels() {
  static const auto kList = [] {
    Kernel kernel{"cpu_fused_linear", supports_any, run_fused_linear};
    kernel.describe = describe;
    kernel.flops = [](const KernelArgs& args) {
      const Call call(args);
      const TileGemm& gemm = call.gemm;
      return 2 * static_cast<std::uint64_t>(gemm.m * gemm.n * gemm.k);
    };
    kernel.scratch_bytes = [](const KernelArgs& args) { return kernel_scratch(Call(args).gemm); };
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"native_fused_linear", kList}});
  return kLists;
}

}  // namespace pel::cpu

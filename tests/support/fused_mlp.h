// A GeGLU MLP, down(gelu(gate(x)) up(x)), assembled by hand with the epilogue hook of the tiles: three
// kernels, or two, the first of which multiplies by both matrices at once. The compiler should find these by
// itself.
#pragma once

#include <array>
#include <memory>

#include "pellucid/pellucid.h"

#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/isa.h"
#include "codegen/llvm/jit.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"

namespace pel::test {

class FusedMlp {
 public:
  FusedMlp(const Tensor& gate, const Tensor& up, const Tensor& down)
      : dtype_(gate.dtype()),
        width_(gate.sizes()[1].value()),
        hidden_(gate.sizes()[0].value()),
        gate_(packed({gate})),
        up_(packed({up})),
        both_(packed({gate, up})),
        down_(packed({down})),
        loops_(compile()) {}

  Tensor in_three(const Tensor& x) const {
    const Tensor gated = multiply(x, gate_, hidden_, width_, loops_[0]);
    const Tensor hidden = multiply(x, up_, hidden_, width_, loops_[1], 1, &gated);
    return multiply(hidden, down_, width_, hidden_, nullptr);
  }
  Tensor in_two(const Tensor& x) const {
    return multiply(multiply(x, both_, hidden_, width_, loops_[2], 2), down_, width_, hidden_, nullptr);
  }

 private:
  // Weights are [out, in].
  static Tensor packed(std::initializer_list<Tensor> weights) {
    const cpu::TileFamily& family = cpu::tiles_for(weights.begin()->dtype());
    std::vector<cpu::PackSource> sources;
    for (const Tensor& weight : weights)
      sources.push_back({cpu::matrix_of(weight).transposed(), weight.dtype()});
    const std::int64_t n = weights.begin()->sizes()[0].value(), k = weights.begin()->sizes()[1].value();
    Tensor panels = empty({cpu::panels_bytes(family, k, n) * static_cast<std::int64_t>(weights.size())}, kU8);
    cpu::pack_matrices(family, {sources.data(), sources.size()}, k, n, static_cast<char*>(panels.raw_data()));
    return panels;
  }

  // Rounds each value that eager execution stores.
  codegen::CompiledKernels compile() const {
    const codegen::Isa isa = *cpu::active_isa();
    const DType type = value_type(dtype_);
    const auto stored = [&](scalar::Term t) { return cast(cast(t, dtype_), type); };
    const Formula& gelu = op<"gelu">().pointwise()->formulas[1];
    const auto gated = [&](scalar::Term sum) {
      const scalar::Term x = stored(sum);
      return stored(gelu.term(dtype_, {&x, 1}, {}));
    };
    std::vector<codegen::LoopKernel> kernels;
    const auto add = [&](const char* name, scalar::ScalarBuilder& builder, scalar::Term result) {
      const scalar::Term rounded = cast(result, dtype_);
      kernels.push_back(codegen::lower_pointwise(name, builder.finish({&rounded, 1}), isa));
    };
    scalar::ScalarBuilder one, two, both;
    add("gelu_of_sum", one, gated(one.input(type)));
    const scalar::Term up = stored(two.input(type)), gate = cast(two.input(dtype_), type);
    add("sum_by_gate", two, gate * up);
    const scalar::Term first = gated(both.input(type)), second = stored(both.input(type));
    add("gelu_of_sum_by_sum", both, first * second);
    return codegen::compile_in_process(kernels, isa);
  }

  Tensor multiply(const Tensor& x, const Tensor& panels, std::int64_t n, std::int64_t k,
                  codegen::PelLoopFn* loop, int matrices = 1, const Tensor* input = nullptr) const {
    const std::int64_t m = x.sizes()[0].value();
    Tensor out = empty({m, n}, dtype_);
    cpu::TileGemm gemm{1, m, n, k, dtype_, cpu::matrix_of(x), {}, cpu::matrix_of(out), dtype_, {}, {}};
    gemm.epilogue.loop = loop;
    if (input != nullptr) gemm.epilogue.inputs.push_back({cpu::matrix_of(*input), dtype_});
    gemm.packed.data = static_cast<const char*>(panels.raw_data());
    gemm.sums = matrices;
    cpu::run_tiles(gemm);
    return out;
  }

  DType dtype_;
  std::int64_t width_, hidden_;
  Tensor gate_, up_, both_, down_;
  codegen::CompiledKernels loops_;
};

}  // namespace pel::test

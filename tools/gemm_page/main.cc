// Writes docs/gemm.md: for some shapes the candidates, the predicted time, and the time measured here.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <pellucid/pellucid.h>

namespace {

struct Shape {
  std::int64_t m, n, k;
  pel::DType dtype;
  bool transposed, bias;
};

constexpr const char* kIntroduction = R"(# Matrix multiplication

<!-- Written by build/release/bin/pellucid-gemm-page > docs/gemm.md, on one thread. -->

`mm`, `bmm`, `addmm`, `baddbmm` and `mv` share one list of kernels. `linear` is `t`, which launches nothing, and `addmm`:
bias, alpha and beta belong to the kernel. Transposed and sliced operands are multiplied without a copy if a kernel supports
their layout; each refusal has a reason. `explain_matmul(a, b, bias)` returns what this page shows for your operands, and
`PELLUCID_LOG=kernels` prints it for every call.

## Kernels

| kernel | supports | implementation |
|---|---|---|
| `pellucid_…_tiny` | every dtype and layout, up to 4,096 operations | element by element |
| `pellucid_…_8x48`, `…_32x32`, … | every dtype and layout | generated register tiles over packed panels; the name contains rows and columns of a tile |
| `onednn_…` | f32, bf16, f16 with a unit stride | oneDNN 3.2, only under `Determinism::Relaxed`. Primitives are cached by sizes, strides and epilogue, 256 per thread |

A name consists of origin, instruction set, dtype, layout, tile or implementation, and epilogue:
`pellucid_amx_bf16_tn_32x32_bias`. The layout is that of the second operand, then of the first, as in column-major BLAS:
`tn` is x Wᵀ, `nn` is x W with row-major operands, `pn` has W packed.

## Order of addition

An element is the dot product of its row and its column, added in an order that depends only on k: not on the number of rows
or columns in the call, on layouts, packing, threads, or whether AMX, AVX-512 or AVX2 runs it. So a row has the same bits
alone and in a batch of 8192, and a fused kernel has the bits of the ops it replaces. [numerics.md](numerics.md) describes
the order and its cost. oneDNN has no fixed order, so a program must request it.

## Packed weights

`pack(w)` returns an object. While it lives and `w` is unchanged, every matmul by that view of `w` reads its panels. For
`linear` that is `pack(weight.t())`. It pays off for few rows, where reading the weights dominates.
`set_packing_cache(bytes)`, or `PELLUCID_PACK_CACHE=512M`, packs weights automatically when a matmul reads them unchanged
for the second time. Compiled functions do that without being asked, up to 256 MiB ([compile.md](compile.md#packed-weights)).

## Cost model

A kernel predicts nanoseconds from sizes; the smallest prediction wins. Tiles: 0.4 µs for the call, plus the larger of
operations over a rate (f32 160 per nanosecond on AVX-512, 80 on AVX2; bf16 on AMX 1000) and bytes over 20 per nanosecond.
Tiny: 0.7 ns per operation. oneDNN: 1 µs, 150 and 900, 24 bytes per nanosecond; transposed weights cost 1.7 times as much for
fewer than 32 rows. The rates are those of a server core of 2023. On another machine `PELLUCID_TUNE=FILE` measures each class
of sizes once (dtype, layout, epilogue, sizes rounded up to a power of two) and records the fastest kernel in the file.

## Measurements

Times are the fastest of five runs on one thread of a shared machine; `*` marks the choice, `–` kernels that need
`Determinism::Relaxed`.

| matmul | candidate | predicted | measured |
|---|---|---|---|
)";

std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof(text), ns < 1e4 ? "%.2f µs" : "%.0f µs", ns / 1e3);
  return text;
}

}  // namespace

int main() {
  pel::set_thread_count(1);
  std::vector<Shape> shapes;
  for (const std::int64_t size : {4, 8, 16, 32, 64, 128, 256, 512})
    shapes.push_back({size, size, size, pel::kF32, false, false});
  for (const std::int64_t rows : {1, 8, 64}) {
    shapes.push_back({rows, 3072, 768, pel::kF32, true, true});
    shapes.push_back({rows, 3072, 768, pel::kBF16, true, true});
    shapes.push_back({rows, 768, 3072, pel::kF32, false, false});
  }
  shapes.push_back({512, 768, 3072, pel::kBF16, true, false});
  shapes.push_back({64, 64, 64, pel::kF16, false, false});
  shapes.push_back({64, 64, 64, pel::kF64, false, false});
  std::printf("%s", kIntroduction);
  int right = 0, judged = 0, compared = 0;
  double loss = 0, ratios = 0;
  for (const Shape& s : shapes) {
    const pel::Tensor a = pel::to_copy(pel::randn({s.m, s.k}), s.dtype);
    const pel::Tensor b = s.transposed ? pel::to_copy(pel::randn({s.n, s.k}), s.dtype).t()
                                       : pel::to_copy(pel::randn({s.k, s.n}), s.dtype);
    std::optional<pel::Tensor> bias;
    if (s.bias) bias = pel::zeros({s.n}, s.dtype);
    const pel::KernelChoice choice = pel::explain_matmul(a, b, bias, pel::Measure::Yes);
    const std::string sizes = std::to_string(s.m) + "×" + std::to_string(s.n) + "×" + std::to_string(s.k);
    double fastest = 0, engine = 0;
    for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
      const pel::KernelCandidate& c = choice.candidates[i];
      if (c.predicted_ns == 0) {
        std::printf("| %s | `%s` | refused: %s | |\n", i == 0 ? sizes.c_str() : "", c.name.c_str(),
                    c.refusal.c_str());
        continue;
      }
      if (c.refusal.empty() && c.measured_ns && (fastest == 0 || *c.measured_ns < fastest))
        fastest = *c.measured_ns;
      if (!c.refusal.empty() && c.measured_ns && (engine == 0 || *c.measured_ns < engine))
        engine = *c.measured_ns;
      std::printf("| %s | `%s`%s | %s | %s |\n", i == 0 ? sizes.c_str() : "", c.name.c_str(),
                  choice.winner == i  ? " *"
                  : c.refusal.empty() ? ""
                                      : " –",
                  microseconds(c.predicted_ns).c_str(),
                  c.measured_ns ? microseconds(*c.measured_ns).c_str() : "");
    }
    const double taken = *choice.candidates[*choice.winner].measured_ns;
    ++judged;
    if (engine > 0) {
      ++compared;
      ratios += std::log(taken / engine);
    }
    if (taken <= 1.02 * fastest) {
      ++right;
    } else {
      loss += taken / fastest - 1;
    }
  }
  std::printf(
      "\nOf the permitted kernels, the model's choice was the fastest, within 2 %%, for %d of %d "
      "matmuls",
      right, judged);
  if (right < judged)
    std::printf("; otherwise it took %.0f %% longer on average", 100 * loss / (judged - right));
  std::printf(".\n");
  if (compared > 0)
    std::printf(
        "It took %.2f times as long as oneDNN's fastest implementation, in the geometric mean of %d.\n",
        std::exp(ratios / compared), compared);
}

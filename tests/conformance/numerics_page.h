// docs/numerics.md, as a text made from what was measured.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pellucid/dtype.h"

namespace pel::conformance {

// One op and formula.
struct NumericsRow {
  std::string title;  // "softplus(x, 2, 20)"
  int tensors = 1;
  bool gives_bool = false;
  bool is_exhaustive_f32 = false;
  std::array<double, 4> errors = {-1, -1, -1, -1};  // by dtype; below 0 where it does not compute in it
};

inline constexpr std::string_view kNumericsIntroduction = R"(# Numerics

<!-- Written by PELLUCID_WRITE_DOCS=1 ./dev test Numerics, which fails without it if the page is out of date. -->

## Guarantees

The result of an op depends only on its operands. AVX2 and AVX-512, one thread and many, prebuilt kernels and kernels
compiled in process produce the same bits. All NaNs count as equal: the payload of a NaN is not guaranteed.

- Mathematical functions are our own polynomials. They consist of the same additions, multiplications and fused
  multiply-adds everywhere. The only function of the C library that kernels call is `fmod`, which is exact.
- f16 and bf16 are computed in f32 and rounded once, at the end. Some functions have shorter formulas for them, with an error of
  at most 0.51 ULP ([0041](decisions/0041-formulas-for-16-bits.md)).
- Denormals are preserved, except in matmuls of bf16. Kernels run under the default floating-point environment, rounding to
  nearest, whatever the caller has set.
- A cast from floating point to integer saturates. NaN becomes 0.
- Integers wrap. A division by 0 is an error; the smallest integer divided by -1 is itself.
- Reductions and row ops follow one tree, which depends only on the sizes of the reduced axes
  ([0010](decisions/0010-the-order-of-reductions.md)). Each op states an error bound in its file. Each level of the tree, of
  1024 elements or blocks, adds at most 37 roundings of the sum of the terms' magnitudes.
- Matmul adds in an order that depends only on the depth k. f32, f64, and f16 in f32: one chain of fused multiply-adds for
  every 1024 of k, and the chains are added one after the other. bf16: for every 32 of k one chain over the even and one over
  the odd k, and their sum is added to the element, in f32 with denormals flushed to zero, as AMX does. The error of an element
  is at most k + 3 roundings of the sum of the products' magnitudes. The cost of a fixed order: bf16 without AMX runs at the
  speed of f32, because VDPBF16PS adds in another order, and one row by a transposed matrix cannot be a dot product along k.
- Attention processes tiles of 1024 keys from key 0 on ([0015](decisions/0015-attention-over-tiles-of-keys.md)): a query
  has the same bits in a full sequence, alone with a cache of keys, and in any batch. Weights of bf16 are rounded to bf16
  before they are multiplied by values.
- Convolutions guarantee less. The number of threads does not change their bits, but the instruction set, the batch, the
  layout and the build (with oneDNN or without) may, because these select kernels that add in different orders; also under
  `Determinism::Strict`. The error of an element with n products is at most n + 3 roundings of the sum of the products'
  magnitudes; denormal results may be flushed to zero. The gradients are convolutions and sums.
- Pooling combines the elements of a window in their order, f16 and bf16 in f32. Adaptive means have eight partial sums;
  element i of the window is added to sum i mod 8. Resampling interpolates along the last axis first.
- Scans add one element after the other, f32 in f64. If several values are added to one element (`scatter_add`,
  `index_put`), they are added in row-major order of the sources, each rounded.
- A random number is a function of the generator's seed, its counter and the element's index.

## Measurements

Figures are the largest measured error, in units in the last place (ULP) of the exact result in its own dtype, rounded up
to two digits. 0.50 is correctly rounded; 0 is exact. Infinity counts as the number after the largest. If terms
cancel, as in `lerp`, the unit is that of the largest term. Each op states a bound in its file under `src/ops/`; the
tests check the figures against it.

The exact result comes from the reference of the op, which is independent of its formula: glibc in double for f16,
bf16 and f32, in 80-bit long double for f64. If an op is defined by rounded steps, as `round` to decimals is, its
reference rounds the same steps.

- One tensor, f16 and bf16: all 65,536 numbers.
- One tensor, f32: all 2^32 numbers if the last column says so (`./dev test exhaustive`). Otherwise a sample: 2^20
  bit patterns, evenly distributed, and 2^18 numbers from the op's typical range.
- One tensor, f64: 2^18 bit patterns and 2^18 numbers from the op's typical range.
- Several tensors: 2^18 random arguments from the op's typical range, one in eight of them a zero, an infinity, NaN, a
  denormal or a bound.

A second formula is named after a colon. Scalar arguments are in parentheses.
)";

// Up to two digits; what is left of a double's last digits does not count.
inline std::string rounded_up(double error) {
  if (error < 0) return "–";
  if (error == 0) return "0";
  return fmt::format("{:.2f}", std::ceil(error * 100 - 1e-6) / 100);
}

inline std::string numerics_page(const std::map<std::string, NumericsRow>& rows) {
  std::string page(kNumericsIntroduction);
  constexpr std::string_view kFamilies[] = {"One tensor", "Two tensors", "Three tensors", "Four tensors"};
  for (int tensors = 1; tensors <= 4; ++tensors) {
    page += fmt::format("\n## {}\n\n| op | f16 | bf16 | f32 | f64 | f32 over |\n|---|---|---|---|---|---|\n",
                        kFamilies[tensors - 1]);
    for (const auto& [name, row] : rows) {
      if (row.tensors != tensors || row.gives_bool) continue;
      const auto error = [&, &errors = row.errors](DType dtype) {
        return rounded_up(errors[static_cast<std::size_t>(dtype)]);
      };
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.title, error(kF16), error(kBF16),
                          error(kF32), error(kF64), row.is_exhaustive_f32 ? "all 2^32" : "sample");
    }
  }
  page += "\n## True or false\n\nThese are compared in the same way and have no error:\n";
  std::string line;
  for (const auto& [name, row] : rows) {
    if (!row.gives_bool) continue;
    const std::string item = "`" + row.title + "`";
    if (!line.empty() && line.size() + item.size() + 3 > 120) {
      page += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + item;
  }
  return page + line + ".\n";
}

}  // namespace pel::conformance

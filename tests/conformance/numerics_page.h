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

<!-- Written by PELLUCID_WRITE_DOCS=1 ./dev test Numerics, which without it fails where the page is out of date. -->

## What is promised

The result of an op depends on its operands alone. AVX2 and AVX-512, one thread and many, kernels built ahead of time
and compiled in process give the same bits. All NaNs count as equal: which one comes out is not promised.

- Mathematical functions are our own polynomials, made of the same additions, multiplications and fused multiply-adds
  everywhere. Of the C library kernels call `fmod` alone, which is exact.
- f16 and bf16 are computed in f32 and rounded once, at the end.
- Denormals are kept, but in products of bf16. Kernels run under the default floating-point environment, rounding to
  nearest, whatever the caller has set.
- A cast from floating to integer saturates. NaN gives 0.
- Integers wrap. A division by 0 is an error; the least integer divided by -1 is itself.
- Reductions and ops over rows follow one tree, which depends on the sizes of the reduced axes alone
  ([0010](decisions/0010-the-order-of-reductions.md)). Each states a bound in its file, to which a level of the tree, of
  1024 elements or blocks, adds at most 37 roundings of the sum of the terms' sizes.
- Products of matrices add in an order that depends on the depth k alone. f32, f64, and f16 in f32: a chain of fused
  multiply-adds for every 1024 of k, the chains added one after the other. bf16: for every 32 of k a chain over the even and
  one over the odd ones, whose sum is added to the element, in f32 with denormals flushed to zero, as AMX does. An element
  is off by at most k + 3 roundings of the sum of the products' sizes. The price of one order: bf16 without AMX runs at the
  speed of f32, since VDPBF16PS adds otherwise, and one row by a transposed matrix cannot be a dot product along k.
- Attention goes over tiles of 1024 keys from key 0 on ([0015](decisions/0015-attention-over-tiles-of-keys.md)): a query
  has the same bits in a whole sequence, alone against a cache of keys, and in any batch. Weights of bf16 are rounded to
  bf16 before they multiply values.
- Convolutions promise less: the number of threads does not change their bits, but the instruction set, the batch, the
  layout and the build (with oneDNN or without) may, because they choose among kernels that add in different orders; also
  under `Determinism::Strict`. An element is off by at most as many roundings of the sum of the products' sizes as it has
  products, and three; results that are denormal may be flushed to zero. The gradients are convolutions and sums.
- Pooling takes the elements of a window in their order, f16 and bf16 in f32; adaptive means add eight sums, element i of
  the window in sum i mod 8. Resampling multiplies along the last axis first.
- Scans add one element after the other, f32 in f64. Where several values meet in one element (`scatter_add`,
  `index_put`), they are added in row-major order of the sources, each rounded.
- A random number is a function of the generator's seed, its counter and the element's index.

## What is measured

Figures are the greatest error seen, in units of the last place (ULP) of the exact result in its own dtype, rounded up
to two digits. 0.50 is rounded correctly; 0 is exact. Infinity counts as the number after the largest. Where terms
cancel, as in `lerp`, the unit is that of the largest term. Each op states a bound in its file under `src/ops/`; the
tests hold the figures against it.

The exact result comes from the reference of the op, which is other code than its formula: glibc in double for f16,
bf16 and f32, in 80-bit long double for f64. Where an op is defined by steps that are rounded, as `round` to decimals
is, so is its reference.

- One tensor, f16 and bf16: all 65,536 numbers.
- One tensor, f32: all 2^32 numbers where the last column says so (`./dev test exhaustive`). A sample elsewhere: 2^20
  bit patterns, spread evenly, and 2^18 numbers from where the op is used.
- One tensor, f64: 2^18 bit patterns and 2^18 numbers from where the op is used.
- Several tensors: 2^18 random arguments from where the op is used, one in eight of them a zero, an infinity, NaN, a
  denormal or a bound.

The name of a second formula stands behind a colon. Numbers that were given beside the tensors stand in parentheses.
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

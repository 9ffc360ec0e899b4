#include <algorithm>

#include "backends/cpu/convolution/pool.h"

namespace pel::cpu {

PoolCall::PoolCall(const Operand& image_operand, const Operand& result, const PelScalar* scalars)
    : batch(image_operand.sizes[0]), channels(image_operand.sizes[1]), is_adaptive(scalars == nullptr) {
  const int rank = image_operand.rank - 2, missing = kSpatialAxes - rank;
  image = {static_cast<char*>(image_operand.data), image_operand.strides[0], image_operand.strides[1], {}};
  pooled = {static_cast<char*>(result.data), result.strides[0], result.strides[1], {}};
  for (int i = 0; i < rank; ++i) {
    PoolAxis& a = axes[missing + i];
    a.in = image_operand.sizes[2 + i];
    a.out = result.sizes[2 + i];
    image.axis[missing + i] = image_operand.strides[2 + i];
    pooled.axis[missing + i] = result.strides[2 + i];
    if (is_adaptive) continue;
    a.kernel = scalars[4 * i].as_int;
    a.stride = scalars[4 * i + 1].as_int;
    a.before = scalars[4 * i + 2].as_int;
    a.dilation = scalars[4 * i + 3].as_int;
  }
  for (PoolAxis& a : axes) {
    for (std::int64_t o = 0; o < a.out; ++o) {
      std::int64_t first = 0, end = 0, with_padding = 0;
      if (is_adaptive) {
        first = o * a.in / a.out;
        end = ((o + 1) * a.in + a.out - 1) / a.out;
        with_padding = end - first;
      } else {
        first = o * a.stride - a.before;
        end = std::min(first + (a.kernel - 1) * a.dilation + 1, a.in + a.before);
        with_padding = end - first;
        if (first < 0) first += (-first + a.dilation - 1) / a.dilation * a.dilation;
        end = std::min(end, a.in);
      }
      a.first.push_back(first);
      a.count.push_back(end > first ? (end - first + a.dilation - 1) / a.dilation : 0);
      a.with_padding.push_back(with_padding);
    }
  }
}

Averaging averaging_of(const KernelArgs& args) {
  if (args.scalar_count < 2) return {};
  const PelScalar* last = args.scalars + args.scalar_count - 2;
  return {last[0].as_int != 0, last[1].as_int};
}

}  // namespace pel::cpu

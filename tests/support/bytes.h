// The bytes of tensors, for comparing bit by bit.
#pragma once

#include <vector>

#include "pellucid/ops.h"

namespace pel::test {

// Returns the bytes in row-major order for any layout.
inline std::vector<char> bytes_of(const Tensor& t) {
  const Tensor dense = t.clone(Layout::RowMajor).to(kCpu);
  const auto* begin = static_cast<const char*>(dense.raw_data());
  return {begin, begin + dense.numel().value() * size_bytes(dense.dtype())};
}

}  // namespace pel::test

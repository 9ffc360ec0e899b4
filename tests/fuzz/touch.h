// Reads all of a tensor, so that a sanitizer sees each of its bytes.
#pragma once

#include "pellucid/tensor.h"

namespace pel::test {

inline void touch(const Tensor& tensor) {
  const auto* bytes = static_cast<const volatile unsigned char*>(tensor.raw_data());
  const std::int64_t size = (tensor.numel() * size_bytes(tensor.dtype())).value();
  unsigned sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += bytes[i];
  static_cast<void>(sum);
}

}  // namespace pel::test

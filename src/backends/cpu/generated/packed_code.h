// The prebuilt kernels of one instruction set as compressed bytes. pellucid-kernelgen writes them, and the
// runtime library has them instead of object files: a fifth of the size.
//
// Two numbers of 32 bits, the sizes of what follows before and after compression; then, compressed:
//   the size of all names
//   number of kernels; of each its name, cost, the inputs that it reads, and which functions it has
//   number of tiles; of each its name and function
//   the code image, whose functions have no names
// Functions are numbers, in the order of the image; kNoFunction if there is none. Names end with a zero byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codegen/isa.h"

namespace pel::cpu {

inline constexpr std::size_t kPackedHeadBytes = 2 * sizeof(std::uint32_t);
inline constexpr std::uint32_t kNoFunction = ~std::uint32_t{0};

// Returns the symbol of these bytes.
inline std::string packed_symbol(codegen::Isa isa) {
  return std::string("pel_packed_kernels_").append(codegen::name(isa));
}

}  // namespace pel::cpu
